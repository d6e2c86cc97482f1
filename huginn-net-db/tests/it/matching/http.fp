; Signatures that distinguish the matching rules; the label names the rule.

classes = win,unix

[http:request]
ua_os = Linux,Windows

; Version, header order, other headers between.
label = s:!:Version:1.0
sys   = @unix
sig   = 0:V::
label = s:!:Version:1.1
sys   = @unix
sig   = 1:V::
label = s:!:Version:both
sys   = @unix
sig   = *:W::
label = s:!:Order:A B
sys   = @unix
sig   = *:A,B::
label = s:!:Order:D D
sys   = @unix
sig   = *:D,D::

; Optional headers.
label = s:!:Optional:between
sys   = @unix
sig   = *:E,?O,F::
label = s:!:Optional:last
sys   = @unix
sig   = *:G,?P::
label = s:!:Optional:first
sys   = @unix
sig   = *:?Q,H::
label = s:!:Optional:with value
sys   = @unix
sig   = *:I,?R=[yes],J::
label = s:!:Optional:two
sys   = @unix
sig   = *:K,?S,?T,L::

; Header values.
label = s:!:Value:inside
sys   = @unix
sig   = *:M=[two]::
label = s:!:Value:of a known name
sys   = @unix
sig   = *:N,Via=[1.1 x]::
label = s:!:Value:with a bar
sys   = @unix
sig   = *:Bar=[a|b]::

; Absent headers.
label = s:!:Absent:X Y
sys   = @unix
sig   = *:AA:X,Y:
label = s:!:Absent:optional too
sys   = @unix
sig   = *:AB,?Z:Z:

; Specific signatures precede generic ones.
label = g:!:Generic:early
sys   = @unix
sig   = *:BA::
label = g:!:Generic:late
sys   = @unix
sig   = *:BA,BB::
label = s:!:Specific:late
sys   = @unix
sig   = *:BA,BC::
label = s:!:Specific:first
sys   = @unix
sig   = *:BD,BE::
label = s:!:Specific:second
sys   = @unix
sig   = *:BD,BF::

; Software.
label = s:!:Software:Chrom
sys   = @unix
sig   = *:CA:: Chrom
label = g:!:Software:generic
sys   = @unix
sig   = *:CB::Tool
label = s:unix:System:software
sig   = *:CC::Tool
label = s:unix:System:
sig   = *:CD::
label = g:unix:System:generic
sig   = *:CE::
label = s:!:Software:honest
sys   = @unix
sig   = *:CF,CG::Other
label = s:!:Software:any
sys   = @unix
sig   = *:CF::Tool

[http:response]

label = s:!:Server:plain
sys   = @unix
sig   = 1:Server,?Last-Modified,VA=[v],?ETag:Keep-Alive,VB:nginx/
label = g:!:Server:generic
sys   = @unix
sig   = *:Server,VC::Apache
label = s:win:Kernel:
sig   = *:VD::
