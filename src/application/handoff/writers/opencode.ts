/**
 * Opencode: the JSON that `opencode export` prints and `opencode import` takes into its database, as 1.18 does. Older messages
 * become a compaction: a message of the user with the part `compaction`, and the summary that answers it.
 */
import { randomUUID } from 'node:crypto'
import { isRecord } from '../../../lib/is-record.js'
import { exactText } from '../../../lib/json.js'
import { shellWord } from '../../../lib/platform.js'
import { agentFolders } from '../../../lib/user-folders.js'
import {
  textOf,
  type Session,
  type SessionCall,
  type SessionPart,
  type SessionTurn,
  type SessionWriter,
} from '../session.js'
import { opencodeModel, type OpencodeModel } from './opencode-model.js'
import { modelNames } from './provider-of.js'

/** The version whose records these are. */
const VERSION = '1.18.16'

const TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

const BITS = 48n

/** Ids as opencode makes them: the lower bits of the time, then random characters. They sort by time. */
class Ids {
  #number: bigint

  /** @param most the number of ids: the last one is of this time */
  constructor(time: number, most: number) {
    this.#number = BigInt(time) * 0x1000n - BigInt(most)
  }

  next(prefix: 'msg' | 'prt'): string {
    this.#number += 1n
    return `${prefix}_${idBody(this.#number)}`
  }
}

const idBody = (number: bigint): string =>
  BigInt.asUintN(Number(BITS), number).toString(16).padStart(12, '0') + randomUUID().replaceAll('-', '').slice(0, 14)

type Fields = Readonly<Record<string, unknown>>

interface Message {
  readonly info: Fields
  readonly parts: readonly Fields[]
}

/** A part whose attachments have ids as well. */
function withAttachments(part: Fields, named: (attachment: Fields) => Fields): Fields {
  const { state } = part
  const attachments = isRecord(state) ? state['attachments'] : undefined
  if (!isRecord(state) || !Array.isArray(attachments)) return part
  return { ...part, state: { ...state, attachments: attachments.filter(isRecord).map(named) } }
}

/** Makes the messages of a session. */
class Messages {
  readonly all: Message[] = []
  readonly #ids: Ids
  readonly sessionID: string
  /** The last message of the user, which the answers name as their parent. */
  #parentID = ''

  constructor(
    private readonly session: Session,
    private readonly model: OpencodeModel,
  ) {
    const time = Date.parse(session.at)
    const parts = session.turns.reduce(
      (sum, turn) => sum + (turn.role === 'assistant' ? turn.calls.length : turn.parts.length),
      0,
    )
    this.#ids = new Ids(time, 8 * (session.turns.length + parts + 4))
    // Session ids sort backwards: the newest comes first.
    this.sessionID = `ses_${idBody(~(BigInt(time) * 0x1000n))}`
  }

  #add(info: Fields, parts: readonly Fields[]): void {
    const id = this.#ids.next('msg')
    if (info['role'] === 'user') this.#parentID = id
    const { sessionID } = this
    const named = (part: Fields): Fields => ({ ...part, id: this.#ids.next('prt'), sessionID, messageID: id })
    this.all.push({
      info: { ...info, ...(info['role'] === 'user' ? {} : { parentID: this.#parentID }), id, sessionID },
      parts: parts.map((part) => named(withAttachments(part, named))),
    })
  }

  user(at: string, parts: readonly Fields[]): void {
    const time = { created: Date.parse(at) }
    this.#add({ role: 'user', time, agent: 'build', model: this.model }, parts)
  }

  answer(at: string, completed: string, mode: string, finish: string, rest: Fields, parts: readonly Fields[]): void {
    const { cwd } = this.session
    // An answer needs a message of the user.
    if (this.#parentID === '') this.user(at, [{ type: 'text', text: 'Continue.', synthetic: true }])
    this.#add(
      {
        role: 'assistant',
        mode,
        agent: mode,
        path: { cwd, root: cwd },
        cost: 0,
        tokens: TOKENS,
        ...this.model,
        time: { created: Date.parse(at), completed: Date.parse(completed) },
        finish,
        ...rest,
      },
      [{ type: 'step-start' }, ...parts, { type: 'step-finish', reason: finish, cost: 0, tokens: TOKENS }],
    )
  }
}

const modelOf = (turns: readonly SessionTurn[]): string | undefined =>
  turns.flatMap((turn) => (turn.role === 'assistant' && turn.model !== undefined ? [turn.model] : [])).at(-1)

const filePart = ({ mediaType, data }: Extract<SessionPart, { kind: 'image' }>): Fields => ({
  type: 'file',
  mime: mediaType,
  url: `data:${mediaType};base64,${data}`,
})

const partOf = (part: SessionPart): Fields =>
  part.kind === 'text' ? { type: 'text', text: part.text } : filePart(part)

/** The title of a call: its arguments, shortened. */
const callTitle = ({ input }: SessionCall): string => (exactText(input) ?? '').slice(0, 120)

function toolPart(call: SessionCall, at: string): Fields {
  const { id, name, input, result } = call
  const time = { start: Date.parse(at), end: Math.max(Date.parse(at), Date.parse(result.at)) }
  const output = textOf(result.parts)
  const images = result.parts.flatMap((part) => (part.kind === 'image' ? [filePart(part)] : []))
  return {
    type: 'tool',
    callID: id,
    tool: name,
    state: result.isError
      ? { status: 'error', input, error: output, time }
      : {
          status: 'completed',
          input,
          output,
          title: callTitle(call),
          metadata: {},
          time,
          ...(images.length === 0 ? {} : { attachments: images }),
        },
  }
}

export const opencodeWriter: SessionWriter = {
  program: 'opencode',
  home: agentFolders.opencode,
  async write(session, directory) {
    const { cwd, title, at, handover, turns } = session
    const last = modelOf(turns)
    const known = await opencodeModel(directory, cwd, last)
    const { model, provider } = modelNames(last)
    const messages = new Messages(session, known ?? { providerID: provider, modelID: model })
    const start = turns[0]?.at ?? at
    if (handover !== undefined) {
      messages.user(start, [{ type: 'compaction', auto: false }])
      messages.answer(start, start, 'compaction', 'stop', { summary: true }, [{ type: 'text', text: handover }])
    }
    for (const turn of turns)
      if (turn.role === 'user') messages.user(turn.at, turn.parts.map(partOf))
      else
        messages.answer(
          turn.at,
          turn.calls.at(-1)?.result.at ?? turn.at,
          'build',
          turn.calls.length > 0 ? 'tool-calls' : 'stop',
          {},
          [
            ...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]),
            ...turn.calls.map((call) => toolPart(call, turn.at)),
          ],
        )
    const { sessionID } = messages
    const info = {
      id: sessionID,
      slug: 'handed-over',
      projectID: 'global',
      directory: cwd,
      title: title ?? 'Handed over',
      version: VERSION,
      time: { created: Date.parse(start), updated: Date.parse(at) },
    }
    return {
      path: `handoff/${sessionID}.json`,
      content: `${exactText({ info, messages: messages.all }) ?? ''}\n`,
      sourceId: sessionID,
      resume: (file) => [
        `cd ${shellWord(cwd)} && opencode import ${shellWord(file)}`,
        // opencode does not resume a session with a model that it does not have.
        `opencode --session ${sessionID}${known === undefined ? ' -m PROVIDER/MODEL' : ''}`,
      ],
    }
  },
}
