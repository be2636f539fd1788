/**
 * Pi: `sessions/--<directory>--/<time>_<session>.jsonl`. Entries are those of version 3, which the package describes in
 * `docs/session-format.md`. Older messages become a compaction that keeps nothing before it.
 */
import { randomUUID } from 'node:crypto'
import { shellWord } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import { jsonLines, type SessionCall, type SessionPart, type SessionTurn, type SessionWriter } from '../session.js'
import { modelNames } from './provider-of.js'

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: NO_COST }

const partOf = (part: SessionPart): unknown =>
  part.kind === 'text'
    ? { type: 'text', text: part.text }
    : { type: 'image', data: part.data, mimeType: part.mediaType }

const callPart = ({ id, name, input }: SessionCall): unknown => ({ type: 'toolCall', id, name, arguments: input })

const resultMessage = ({ id, name, result }: SessionCall): Readonly<Record<string, unknown>> => ({
  role: 'toolResult',
  toolCallId: id,
  toolName: name,
  content: result.parts.map(partOf),
  isError: result.isError,
})

function turnMessage(turn: SessionTurn): Readonly<Record<string, unknown>> {
  if (turn.role === 'user') return { role: 'user', content: turn.parts.map(partOf) }
  return {
    role: 'assistant',
    content: [...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]), ...turn.calls.map(callPart)],
    ...modelNames(turn.model),
    usage: USAGE,
    stopReason: turn.calls.length > 0 ? 'toolUse' : 'stop',
  }
}

/** The entries of a session, each the child of the one before. */
class Entries {
  readonly all: unknown[] = []
  readonly #ids = new Set<string>()
  #last: string | null = null

  add(at: string, fields: (id: string) => Readonly<Record<string, unknown>>): void {
    let id = randomUUID().slice(0, 8)
    while (this.#ids.has(id)) id = randomUUID().slice(0, 8)
    this.#ids.add(id)
    const { type, ...rest } = fields(id)
    this.all.push({ type, id, parentId: this.#last, timestamp: at, ...rest })
    this.#last = id
  }

  message(at: string, message: Readonly<Record<string, unknown>>): void {
    this.add(at, () => ({ type: 'message', message: { ...message, timestamp: Date.parse(at) } }))
  }
}

export const piWriter: SessionWriter = {
  program: 'pi',
  home: agentFolders.pi,
  write({ id, cwd, title, at, handover, turns }) {
    const entries = new Entries()
    if (title !== undefined) entries.add(at, () => ({ type: 'session_info', name: title }))
    if (handover !== undefined)
      entries.add(at, (own) => ({
        type: 'compaction',
        summary: handover,
        firstKeptEntryId: own,
        tokensBefore: 0,
        fromHook: true,
      }))
    for (const turn of turns) {
      entries.message(turn.at, turnMessage(turn))
      if (turn.role === 'assistant') for (const call of turn.calls) entries.message(call.result.at, resultMessage(call))
    }
    const directory = `--${cwd.replace(/^[/\\]/u, '').replaceAll(/[/\\:]/gu, '-')}--`
    return Promise.resolve({
      path: `sessions/${directory}/${at.replaceAll(/[:.]/gu, '-')}_${id}.jsonl`,
      content: jsonLines([{ type: 'session', version: 3, id, timestamp: at, cwd }, ...entries.all]),
      sourceId: id,
      resume: (file) => [`cd ${shellWord(cwd)} && pi --session ${shellWord(file)}`],
    })
  },
}
