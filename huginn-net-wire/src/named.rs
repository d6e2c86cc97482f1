//! Enums whose variants have a name each.

/// Declares enums with a row for each variant: its name, which [`Display`](std::fmt::Display) writes.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $type:ident {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    )+) => {$(
        $(#[$meta])*
        $vis enum $type {
            $($(#[$doc])* #[doc = ""] #[doc = concat!("Its name is `", $name, "`.")] $variant,)+
        }

        #[allow(dead_code, reason = "not every enum needs all of its functions")]
        impl $type {
            /// All values, in the order of their declaration.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The names, in the same order.
            $vis const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// The name.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The value with this [name](Self::name).
            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    )+};
}
