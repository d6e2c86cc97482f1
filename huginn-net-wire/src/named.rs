//! Enums whose variants have a name each.

/// Declares an enum by a table of names, with [`table_enum!`](crate::table_enum): `name()`, `NAMES`, `from_name()`, and
/// [`Display`](std::fmt::Display), which writes the name.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    )+) => {$(
        $crate::table_enum! {
            $(#[$meta])*
            $vis enum $type {
                $($(#[$doc])* #[doc = ""] #[doc = concat!("Its name is `", $name, "`.")] $variant: $name;)+
            }
            /// The name.
            $vis fn name -> &'static str = 0;
        }

        #[allow(dead_code, reason = "not every enum needs all of its functions")]
        impl $type {
            /// The names, in the order of [`ALL`](Self::ALL).
            $vis const NAMES: &'static [&'static str] = &[$($name),+];

            /// The value with this [name](Self::name).
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}
