; The built-in signature database of Huginn-Net, in the syntax of p0f v3.
; The files are read one after another in the order of their names. How they
; are grouped, named and checked is described in docs/signatures.md.

; win: the Windows NT line. unix: everything with a Unix-like network stack,
; phones included. other: appliances, gateways and embedded stacks.
classes = win,unix,other
