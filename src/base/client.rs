//! Programs whose sessions are read.

use crate::base::words::words;

words! {
    /// Program that sent a request, or log that contained the request.
    #[derive(Default)]
    pub enum Client {
        /// Claude Code, and other programs that keep its transcripts.
        #[default]
        ClaudeCode = "claude", "Claude Code";
        /// `OpenAI` Codex.
        Codex = "codex", "Codex";
        /// GitHub Copilot.
        Copilot = "copilot", "Copilot";
        /// opencode.
        OpenCode = "opencode", "opencode";
        /// Pi.
        Pi = "pi", "Pi";
        /// `OpenClaw`, which keeps Pi's sessions.
        OpenClaw = "openclaw", "OpenClaw";
        /// Cline.
        Cline = "cline", "Cline";
        /// Roo Code.
        Roo = "roo", "Roo Code";
        /// Gemini CLI.
        Gemini = "gemini", "Gemini CLI";
        /// Qwen Code.
        Qwen = "qwen", "Qwen Code";
        /// Kimi CLI and Kimi Code.
        Kimi = "kimi", "Kimi";
        /// Amp.
        Amp = "amp", "Amp";
        /// Zed's agent.
        Zed = "zed", "Zed";
        /// Grok's command line.
        Grok = "grok", "Grok";
        /// Antigravity, on the command line and as an editor.
        Antigravity = "antigravity", "Antigravity";
        /// Goose.
        Goose = "goose", "Goose";
        /// A spend log of `LiteLLM`, whichever program sent the requests.
        LiteLlm = "litellm", "LiteLLM";
        /// A trace of `OpenTelemetry`, whichever program sent the requests.
        OpenTelemetry = "otel", "OpenTelemetry";
        /// An export of Langfuse, whichever program sent the requests.
        Langfuse = "langfuse", "Langfuse";
        /// An export of `LangSmith`, whichever program sent the requests.
        LangSmith = "langsmith", "LangSmith";
        /// An export of Helicone, whichever program sent the requests.
        Helicone = "helicone", "Helicone";
        /// Captured requests, whichever program sent them.
        Capture = "capture", "captured requests";
    }
    /// Name for people.
    pub fn label;
}
