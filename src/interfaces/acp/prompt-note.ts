/** Puts a note into the next prompt of a session. */
import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser'
import { isRecord } from '../../lib/is-record.js'

/** Notes that wait, by session. Each is given once. */
export class WaitingNotes {
  private readonly notes = new Map<string, string>()

  get areWaiting(): boolean {
    return this.notes.size > 0
  }

  /** @param text empty if there is nothing to say */
  put(sessionId: string, text: string): void {
    if (text === '') this.notes.delete(sessionId)
    else this.notes.set(sessionId, text)
  }

  /** The line with the note of its session as first block of the prompt; any other line unchanged. */
  addTo(line: Buffer): Buffer {
    const text = line.toString('utf8')
    if (!text.includes('session/prompt')) return line
    const sessionId = promptedSession(text)
    const note = sessionId === undefined ? undefined : this.notes.get(sessionId)
    const tree = note === undefined ? undefined : parseTree(text)
    const prompt = tree === undefined ? undefined : findNodeAtLocation(tree, ['params', 'prompt'])
    if (note === undefined || sessionId === undefined || prompt?.type !== 'array') return line
    // An agent recognizes a command by the beginning of the prompt.
    if (isCommand(getNodeValue(prompt))) return line
    this.notes.delete(sessionId)
    const at = prompt.offset + 1
    const comma = (prompt.children ?? []).length > 0 ? ',' : ''
    // Everything else stays as it was written.
    return Buffer.from(`${text.slice(0, at)}${JSON.stringify({ type: 'text', text: note })}${comma}${text.slice(at)}`)
  }
}

/** Whether a prompt is a command of the agent, such as `/compact`. */
const isCommand = (blocks: unknown): boolean =>
  Array.isArray(blocks) &&
  blocks.some((block: unknown) => isRecord(block) && typeof block['text'] === 'string' && block['text'].startsWith('/'))

/** The session of a prompt; undefined for another message. */
function promptedSession(text: string): string | undefined {
  try {
    const message: unknown = JSON.parse(text)
    if (!isRecord(message) || message['method'] !== 'session/prompt' || !isRecord(message['params'])) return undefined
    const { sessionId } = message['params']
    return typeof sessionId === 'string' ? sessionId : undefined
  } catch {
    return undefined
  }
}
