/** The programs to which a session can be handed over. */
import type { SessionWriter } from '../session.js'
import { claudeCodeWriter } from './claude-code.js'
import { codexWriter } from './codex.js'
import { geminiWriter } from './gemini.js'
import { opencodeWriter } from './opencode.js'
import { piWriter } from './pi.js'

/** All writers. */
export const sessionWriters: readonly SessionWriter[] = [
  claudeCodeWriter,
  codexWriter,
  opencodeWriter,
  piWriter,
  geminiWriter,
]
