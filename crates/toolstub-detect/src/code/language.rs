//! The languages that are told apart.

macro_rules! languages {
    ($($variant:ident $name:literal,)*) => {
        /// A programming, query, build or style language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Language { $($variant,)* }

        impl Language {
            /// All languages; where the evidence is equal, the earlier one wins.
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in lower case.
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

languages! {
    Python "python",
    Rust "rust",
    Go "go",
    JavaScript "javascript",
    TypeScript "typescript",
    Java "java",
    C "c",
    Cpp "cpp",
    CSharp "csharp",
    Ruby "ruby",
    Php "php",
    Kotlin "kotlin",
    Swift "swift",
    Lua "lua",
    Shell "shell",
    PowerShell "powershell",
    Sql "sql",
    Protobuf "protobuf",
    Hcl "hcl",
    Makefile "makefile",
    Dockerfile "dockerfile",
    Css "css",
    Scss "scss",
    Perl "perl",
    Scala "scala",
    Groovy "groovy",
    Dart "dart",
    R "r",
    Elixir "elixir",
    Haskell "haskell",
    Zig "zig",
    CMake "cmake",
    Vue "vue",
    ObjectiveC "objective-c",
}
