//! The programs whose sessions are read.

/// The program that sent a request, or the log in which the request was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Claude Code, and what else keeps its transcripts.
    #[default]
    ClaudeCode,
    /// `OpenAI` Codex.
    Codex,
    /// GitHub Copilot.
    Copilot,
    /// opencode.
    OpenCode,
    /// Pi.
    Pi,
    /// `OpenClaw`, which keeps Pi's sessions.
    OpenClaw,
    /// Cline.
    Cline,
    /// Roo Code.
    Roo,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// Kimi CLI and Kimi Code.
    Kimi,
    /// Amp.
    Amp,
    /// Zed's agent.
    Zed,
    /// Grok's command line.
    Grok,
    /// A spend log of `LiteLLM`, whichever program sent the requests.
    LiteLlm,
    /// A trace of `OpenTelemetry`, whichever program sent the requests.
    OpenTelemetry,
    /// An export of Langfuse, whichever program sent the requests.
    Langfuse,
    /// An export of Helicone, whichever program sent the requests.
    Helicone,
    /// Captured requests, whichever program sent them.
    Capture,
}

impl Client {
    /// Every client, in output order.
    pub const ALL: [Self; 19] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Copilot,
        Self::OpenCode,
        Self::Pi,
        Self::OpenClaw,
        Self::Cline,
        Self::Roo,
        Self::Gemini,
        Self::Qwen,
        Self::Kimi,
        Self::Amp,
        Self::Zed,
        Self::Grok,
        Self::LiteLlm,
        Self::OpenTelemetry,
        Self::Langfuse,
        Self::Helicone,
        Self::Capture,
    ];

    /// The name in options and in outputs for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::OpenClaw => "openclaw",
            Self::Cline => "cline",
            Self::Roo => "roo",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Kimi => "kimi",
            Self::Amp => "amp",
            Self::Zed => "zed",
            Self::Grok => "grok",
            Self::LiteLlm => "litellm",
            Self::OpenTelemetry => "otel",
            Self::Langfuse => "langfuse",
            Self::Helicone => "helicone",
            Self::Capture => "capture",
        }
    }

    /// The name that people see.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot",
            Self::OpenCode => "opencode",
            Self::Pi => "Pi",
            Self::OpenClaw => "OpenClaw",
            Self::Cline => "Cline",
            Self::Roo => "Roo Code",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Kimi => "Kimi",
            Self::Amp => "Amp",
            Self::Zed => "Zed",
            Self::Grok => "Grok",
            Self::LiteLlm => "LiteLLM",
            Self::OpenTelemetry => "OpenTelemetry",
            Self::Langfuse => "Langfuse",
            Self::Helicone => "Helicone",
            Self::Capture => "captured requests",
        }
    }

    /// The client with a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }
}
