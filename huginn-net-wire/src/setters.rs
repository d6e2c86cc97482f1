//! Methods that set the fields of a struct which other crates cannot write as a literal.

/// Implements a method for each field that takes the value and returns the struct: `limits.max_flows(100)`. `None` and `Some(value)` fit a
/// parameter `impl Into<Option<T>>`, and so does the value alone.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($type:ident $(<$life:lifetime>)? { $($field:ident: $value:ty),+ $(,)? }) => {
        impl $(<$life>)? $type $(<$life>)? {$(
            #[doc = concat!("Sets the field `", stringify!($field), "`.")]
            #[must_use]
            pub fn $field(mut self, $field: $value) -> Self {
                self.$field = $field.into();
                self
            }
        )+}
    };
}
