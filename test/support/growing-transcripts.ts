/**
 * Sessions of four programs. Their lines are made one after another, as the program would write them, with the messages
 * of each line by the ids under which the ledger records them.
 */
import { claudeCodeLines } from './claude-code-transcript.js'

/** A line of a session, without its line feed. */
interface SessionLine {
  readonly text: string
  /** The message that it says; undefined where it says none. */
  readonly messageId: string | undefined
  readonly isCompaction: boolean
}

/** A session that a test writes line by line. */
export interface Session {
  /** Its conversation in the ledger. */
  readonly conversationId: string
  line(at: number): SessionLine
}

const at = (second: number): string => new Date(Date.UTC(2026, 2, 10, 8, 0, second)).toISOString()
const words = (id: string, number: number): string => `${id} says ${String(number)}: ${'the tide turns. '.repeat(6)}`
const lineOf = (value: object, messageId?: string): SessionLine => ({
  text: JSON.stringify(value),
  messageId,
  isCompaction: false,
})

/** Turns of a Claude Code session, which is compacted after every twentieth turn. */
const TURNS = 200
const COMPACTED = Array.from({ length: TURNS / 20 }, (_none, index) => index * 20 + 19)

function claudeCode(id: string): Session {
  const lines = claudeCodeLines(TURNS, COMPACTED, id)
  return {
    conversationId: `claude-code/${id}`,
    line(number) {
      const text = lines[number]
      if (text === undefined) throw new Error(`session ${id} has ${String(lines.length)} lines`)
      const uuid = /"uuid":"([^"]+)"/u.exec(text)?.[1] ?? ''
      const isMessage = !/^(?:boundary|summary)/u.test(uuid)
      return { text, messageId: isMessage ? uuid : undefined, isCompaction: uuid.startsWith('summary') }
    },
  }
}

function codex(id: string): Session {
  return {
    conversationId: `codex/${id}`,
    line(number) {
      const record = (type: string, payload: object): object => ({ timestamp: at(number), type, payload })
      if (number === 0) return lineOf(record('session_meta', { id, timestamp: at(0), cwd: '/srv', source: 'cli' }))
      const isUser = number % 2 === 1
      const content = [{ type: isUser ? 'input_text' : 'output_text', text: words(id, number) }]
      return lineOf(
        record('response_item', { type: 'message', role: isUser ? 'user' : 'assistant', content }),
        `line-${String(number + 1)}`,
      )
    },
  }
}

function pi(id: string): Session {
  const idOf = (number: number): string => `e${String(number)}`
  return {
    conversationId: `pi/${id}`,
    line(number) {
      if (number === 0) return lineOf({ type: 'session', version: 3, id, timestamp: at(0), cwd: '/srv' })
      const role = number % 2 === 1 ? 'user' : 'assistant'
      const message = { role, content: [{ type: 'text', text: words(id, number) }], timestamp: 1_773_129_600_000 }
      const parentId = number === 1 ? null : idOf(number - 1)
      return lineOf({ type: 'message', id: idOf(number), parentId, timestamp: at(number), message }, idOf(number))
    },
  }
}

function gemini(id: string): Session {
  return {
    conversationId: `gemini/${id}`,
    line(number) {
      if (number === 0) return lineOf({ sessionId: id, projectHash: 'f00d', startTime: at(0), kind: 'main' })
      const type = number % 2 === 1 ? 'user' : 'gemini'
      const messageId = `g${String(number)}`
      return lineOf({ id: messageId, timestamp: at(number), type, content: [{ text: words(id, number) }] }, messageId)
    },
  }
}

/** A session of the program with this number: Claude Code, Codex, pi and Gemini CLI in turn. */
export function sessionOf(number: number, id: string): Session {
  const make = [claudeCode, codex, pi, gemini][number % 4] ?? claudeCode
  return make(id)
}
