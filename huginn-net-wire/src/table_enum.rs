//! Enums whose variants have constants.

/// Declares an enum by a table: a row of constants for each variant, and a method for each column, with its place in the rows. `ALL` has
/// the variants in their order.
///
/// ```
/// huginn_net_wire::table_enum! {
///     /// A colour.
///     #[derive(Clone, Copy, Debug)]
///     pub enum Colour {
///         Red: "red", 0xff0000;
///         Blue: "blue", 0x0000ff;
///     }
///     /// The name.
///     pub fn name -> &'static str = 0;
///     /// The number in CSS.
///     pub fn number -> u32 = 1;
/// }
///
/// assert_eq!(Colour::ALL.len(), 2);
/// assert_eq!(Colour::ALL[0].name(), "red");
/// assert_eq!(Colour::Red.number(), 0xff0000);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! table_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $kind:ident {$(
            $(#[$about:meta])*
            $variant:ident: $($value:expr),+;
        )+}
        $(
            $(#[$doc:meta])*
            $fn_vis:vis fn $column:ident -> $type:ty = $place:tt;
        )+
    ) => {
        $(#[$meta])*
        $vis enum $kind {$(
            $(#[$about])*
            $variant,
        )+}

        impl $kind {
            /// All of them, in their order.
            #[allow(dead_code, reason = "not every table is iterated")]
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[inline]
            const fn row(self) -> ($($type,)+) {
                match self {
                    $(Self::$variant => ($($value,)+),)+
                }
            }

            $(
                $(#[$doc])*
                #[inline]
                $fn_vis const fn $column(self) -> $type {
                    self.row().$place
                }
            )+
        }
    };
}
