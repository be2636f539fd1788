/** All written transcripts, one for each program. */
import { amp } from './amp.js'
import { claudeAi } from './claude-ai.js'
import { claudeCodeStream } from './claude-code-stream.js'
import { codexExec } from './codex-exec.js'
import { copilotCli } from './copilot-cli.js'
import { continueDev } from './continue.js'
import { crush } from './crush.js'
import { cursor } from './cursor.js'
import { goose } from './goose.js'
import { kimi } from './kimi.js'
import { litellm } from './litellm.js'
import { openaiMessages } from './openai-messages.js'
import { qwen } from './qwen.js'
import { specstory } from './specstory.js'
import { vscodeCopilot } from './vscode-copilot.js'
import { zed, zedCompacted } from './zed.js'
import type { WrittenTranscript } from './written.js'

export const writtenTranscripts: readonly WrittenTranscript[] = [
  openaiMessages,
  claudeCodeStream,
  codexExec,
  qwen,
  copilotCli,
  ...goose,
  ...kimi,
  ...cursor,
  claudeAi,
  amp,
  continueDev,
  crush,
  ...vscodeCopilot,
  zed,
  zedCompacted,
  specstory,
  litellm,
]
