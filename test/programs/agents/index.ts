/** The programs of the suite, in the order of the page. */
import type { AgentProgram } from '../agent.js'
import { claudeCode } from './claude-code.js'
import { cline } from './cline.js'
import { codex } from './codex.js'
import { continueCli } from './continue.js'
import { copilotCli } from './copilot-cli.js'
import { gemini } from './gemini.js'
import { opencode } from './opencode.js'
import { pi } from './pi.js'
import { qwen } from './qwen.js'

export const AGENTS: readonly AgentProgram[] = [
  claudeCode,
  codex,
  opencode,
  gemini,
  pi,
  qwen,
  copilotCli,
  continueCli,
  cline,
]
