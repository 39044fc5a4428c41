//! Enums whose variants have names in results.

/// An enum with [`ALL`](#associatedconstant.ALL) variants, each with the name that it has in results and on
/// the command line.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        $vis enum $Enum {
            $($(#[$doc])* $Variant,)*
        }

        impl $Enum {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant),*];

            /// Its name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }

            /// The one of that name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
