//! How commands are listed: each is a type of what is typed and one of what is meant, with [`Means`] between them.

use crate::refused;

pub(crate) use crate::meant::Usage;
pub(crate) use crate::refused::Lacks;

/// What is typed for a command; from it follows what is meant.
pub(crate) trait Means<Meant> {
    /// The options of the common vocabulary that it does not have, and why; a test names those that are missing.
    const LACKS: Lacks = &[];

    /// Decides every default and every conflict of options. What depends on files (how many there are, what their
    /// endings say) is left to who carries the command out.
    fn meant(self) -> Result<Meant, Usage>;

    /// Its syntax, with the options that are refused.
    fn refusing(syntax: clap::Command) -> clap::Command {
        refused::add(syntax, Self::LACKS)
    }
}

/// Makes two enumerations of a list: of what is typed, for clap, and of what is meant. A line of it is
/// `Name(Typed => Meant) in file`; what the file has is then known beside the list as well. A list is a command, too,
/// so that it can stand in another one, and its commands have in common what it `lacks`.
macro_rules! commands {
    ($(#[$about:meta])* $typed:ident => $meant:ident lacks $lacks:expr; $(
        $(#[cfg($feature:meta)])? $(#[command($($how:tt)*)])?
        $name:ident($words:ident => $meaning:ident) $(in $file:ident)?,
    )*) => {
        $($(#[cfg($feature)])? crate::list::commands! { in $($file)? })*

        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $typed {
            $($(#[cfg($feature)])? $(#[command($($how)*)])? $name($words),)*
        }

        /// What is to be done.
        #[derive(Debug)]
        pub enum $meant {
            $($(#[cfg($feature)])? $name($meaning),)*
        }

        impl crate::list::Means<$meant> for $typed {
            const LACKS: crate::list::Lacks = $lacks;

            fn meant(self) -> Result<$meant, crate::list::Usage> {
                Ok(match self {
                    $($(#[cfg($feature)])? $typed::$name(typed) => $meant::$name(typed.meant()?),)*
                })
            }

            fn refusing(syntax: clap::Command) -> clap::Command {
                let each: &[fn(clap::Command) -> clap::Command] =
                    &[$($(#[cfg($feature)])? <$words as crate::list::Means<$meaning>>::refusing,)*];
                // In the order of the list, as the commands of clap are.
                let mut each = each.iter();
                syntax.mut_subcommands(|inner| match each.next() {
                    Some(refusing) => crate::refused::add(refusing(inner), Self::LACKS),
                    None => inner,
                })
            }
        }
    };
    (in) => {};
    (in $file:ident) => {
        pub use $file::*;
    };
}
pub(crate) use commands;
