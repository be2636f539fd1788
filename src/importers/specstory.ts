/**
 * SpecStory: a Markdown file for each session of another program, in `.specstory/history/` of a project. Headers name the
 * speaker, the model and the time; a call of a tool is a block with its result. Written for Markdown 2.0 to 2.1 of
 * `specstory-cli/pkg/markdown`. The form has no compactions, and the arguments of most calls only as they are shown.
 */
import { textIn } from '../lib/text-in.js'
import { stemOf, timeIn } from './bodies.js'
import { answerBody, messageItems, type NewMessage } from './message-items.js'
import type {
  Head,
  Importer,
  Layout,
  SourceLocation,
  TranscriptItem,
  TranscriptReader,
  TranscriptRecord,
} from './transcript.js'

const SESSION = /^<!-- (.+) Session (\S+) \(([^)]*)\) -->$/u
const HEADER = /^_\*\*(User|Agent|Assistant)( - sidechain)?(?: \((.*)\))?\*\*_$/u
const MESSAGE_ID = /^<!-- message-id: (\S+) -->$/u
const TOOL = /<tool-use[^>]*data-tool-name="([^"]*)"[^>]*><details>\n?([^]*?)<\/details><\/tool-use>/u
const THOUGHTS = /<think><details><summary>[^<]*<\/summary>\n?([^]*?)<\/details><\/think>/u
const RESULT = /^\*\*(Result|Error):\*\*\s*\n+/mu

interface OpenMessage {
  readonly index: number
  readonly role: 'user' | 'assistant'
  readonly isSide: boolean
  readonly model: string | undefined
  readonly at: string | undefined
  readonly where: SourceLocation
  id: string | undefined
  readonly lines: string[]
}

/** The time at the end of a header's note, and the model before it. */
function noteOf(note: string | undefined): { readonly model: string | undefined; readonly at: string | undefined } {
  const [, model, time] = /^(?:(.*?) ?)(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:Z|[+-]\d{4})?)$/u.exec(note ?? '') ?? []
  return time === undefined ? { model: textIn(note), at: undefined } : { model: textIn(model), at: timeIn(time) }
}

/** The messages of a section: its thoughts and text, then its call and the result of it. */
function messagesOf({ role, lines }: OpenMessage, id: string): readonly NewMessage[] {
  const whole = lines.join('\n')
  if (role === 'user') {
    const content = whole.replace(/\n+---\s*$/u, '').trim()
    return content === '' ? [] : [{ body: { role, content } }]
  }
  const [block, name, shown = ''] = TOOL.exec(whole) ?? []
  const [thought, thinking] = THOUGHTS.exec(whole) ?? []
  const text = [block, thought].reduce<string>(
    (left, each) => (each === undefined ? left : left.replace(each, '')),
    whole,
  )
  const body = answerBody(
    thinking === undefined ? [] : [{ type: 'thinking', thinking: thinking.trim() }],
    text.replace(/\n+---\s*$/u, '').trim(),
    [],
  )
  const answer = body === undefined ? [] : [{ body }]
  if (name === undefined) return answer
  const result = RESULT.exec(shown)
  const input = (result === null ? shown : shown.slice(0, result.index)).trim()
  const call = { id: `${id}-call`, type: 'custom', custom: { name: name === '' ? 'unknown' : name, input } }
  const called: NewMessage = { body: { role: 'assistant', content: null, toolCalls: [call] } }
  if (result === null) return [...answer, called]
  const content = shown
    .slice(result.index + result[0].length)
    .trim()
    .replace(/^```\w*\n([^]*?)\n?```$/u, '$1')
  const isError = result[1] === 'Error' ? { isError: true as const } : {}
  return [...answer, called, { body: { role: 'tool', content, toolCallId: call.id }, ...isError }]
}

class SpecstoryReader implements TranscriptReader {
  private current: string | undefined
  private sessionId: string
  private open: OpenMessage | undefined
  private count = 0

  constructor(path: string) {
    this.sessionId = stemOf(path)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const line = typeof value === 'string' ? value : ''
    const session = SESSION.exec(line)
    const header = HEADER.exec(line)
    const messageId = MESSAGE_ID.exec(line)
    if (session !== null && this.open === undefined) this.sessionId = session[2] ?? this.sessionId
    else if (header !== null) {
      yield* this.close()
      this.count += 1
      const role = header[1] === 'User' ? 'user' : 'assistant'
      const note = noteOf(header[3])
      this.open = { index: this.count, role, isSide: header[2] !== undefined, ...note, where, id: undefined, lines: [] }
    } else if (messageId !== null && this.open?.lines.length === 0) this.open.id = messageId[1]
    else if (this.open !== undefined && (line !== '' || this.open.lines.length > 0)) this.open.lines.push(line)
  }

  *end(): Generator<TranscriptItem> {
    yield* this.close()
  }

  private *close(): Generator<TranscriptItem> {
    const { open } = this
    this.open = undefined
    if (open === undefined) return
    const { at, model, where } = open
    const sourceId = open.isSide ? `${this.sessionId}/sidechain` : this.sessionId
    if (sourceId !== this.current) {
      this.current = sourceId
      const parent = open.isSide ? { parent: { sourceId: this.sessionId, how: 'sub-agent' } as const } : {}
      yield { kind: 'conversation', sourceId, ...parent, startedAt: open.index === 1 ? at : undefined, where }
    }
    const id = open.id ?? `message-${String(open.index)}`
    const messages = messagesOf(open, id)
    if (messages.length === 0) yield { kind: 'left-out', what: `empty ${open.role}`, where }
    yield* messageItems(messages, { sourceId: id, at, answerId: id, model, where })
  }
}

const recognize = ({ text }: Head): Layout | undefined =>
  /^\s*<!-- Generated by SpecStory/iu.test(text) || /^_\*\*(?:User|Agent|Assistant)\b[^\n]*\*\*_\s*$/mu.test(text)
    ? 'text'
    : undefined

/** The importer of SpecStory. */
export const specstory: Importer = {
  program: 'specstory',
  title: 'SpecStory',
  // It writes to `.specstory/history` of each project.
  homes: () => [],
  recognize,
  read: (path) => new SpecstoryReader(path),
}
