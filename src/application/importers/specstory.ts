/**
 * SpecStory: a Markdown file for each session of another program, in `.specstory/history/` of a project. Headers name the
 * speaker, the model and the time; a call of a tool is a block with its result. Written for Markdown 2.0 to 2.1 of
 * `specstory-cli/pkg/markdown`. The form has no compactions, and the arguments of most calls only as they are shown.
 */
import { textIn } from '../../lib/text-in.js'
import { stemOf, timeIn } from './bodies.js'
import { QuotedText, quotedLines } from './fences.js'
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
const TOOL_NAME = /^<tool-use[^>]*data-tool-name="([^"]*)"/u
const TOOL = /<tool-use[^>]*><details>[^]*?<\/details><\/tool-use>/u
const THOUGHTS = /<think><details><summary>[^<]*<\/summary>[^]*?<\/details><\/think>/u
/** The tags at the beginning and the end of a block. */
const TAGS =
  /^<(?:tool-use[^>]*><details>|think><details><summary>[^<]*<\/summary>)\n?|<\/details><\/(?:tool-use|think)>$/gu
const RESULT = /^\*\*(Result|Error):\*\*\s*\n+/mu

interface Line {
  readonly text: string
  readonly where: SourceLocation
}

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

/** A character that no marker contains. */
const UNMARKED = '\uFFFD'

/** A text of equal length without the quoted lines, to search for markers. */
function withoutQuotations(text: string): string {
  const lines = text.split('\n')
  const isQuoted = quotedLines(lines)
  return lines.map((line, at) => (isQuoted[at] === true ? UNMARKED.repeat(line.length) : line)).join('\n')
}

/** A block of a section, with its tags. */
interface Block {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** Finds a block outside quotations. */
function blockIn(text: string, pattern: RegExp): Block | undefined {
  const found = pattern.exec(withoutQuotations(text))
  if (found === null) return undefined
  const to = found.index + found[0].length
  return { from: found.index, to, text: text.slice(found.index, to) }
}

/** The messages of a section: its thoughts and text, then its call and the result of it. */
function messagesOf({ role, lines }: OpenMessage, id: string): readonly NewMessage[] {
  const whole = lines.join('\n')
  if (role === 'user') {
    const content = whole.replace(/\n+---\s*$/u, '').trim()
    return content === '' ? [] : [{ body: { role, content } }]
  }
  const tool = blockIn(whole, TOOL)
  const thoughts = blockIn(whole, THOUGHTS)
  const blocks = [tool, thoughts].flatMap((block) => block ?? []).toSorted((one, other) => other.from - one.from)
  const text = blocks.reduce((rest, { from, to }) => `${rest.slice(0, from)}${rest.slice(to)}`, whole)
  const body = answerBody(
    thoughts === undefined ? [] : [{ type: 'thinking', thinking: thoughts.text.replaceAll(TAGS, '').trim() }],
    text.replace(/\n+---\s*$/u, '').trim(),
    [],
  )
  const answer = body === undefined ? [] : [{ body }]
  if (tool === undefined) return answer
  return [...answer, ...callIn(tool.text, id)]
}

/** The call of a tool's block, and its result. */
function callIn(block: string, id: string): readonly NewMessage[] {
  const name = TOOL_NAME.exec(block)?.[1] ?? ''
  const visible = block.replaceAll(TAGS, '')
  const result = RESULT.exec(withoutQuotations(visible))
  const input = (result === null ? visible : visible.slice(0, result.index)).trim()
  const call = { id: `${id}-call`, type: 'custom', custom: { name: name === '' ? 'unknown' : name, input } }
  const called: NewMessage = { body: { role: 'assistant', content: null, toolCalls: [call] } }
  if (result === null) return [called]
  const content = visible
    .slice(result.index + result[0].length)
    .trim()
    .replace(/^(`{3,})\w*\n([^]*?)\n?\1$/u, '$2')
  const isError = result[1] === 'Error' ? { isError: true as const } : {}
  return [called, { body: { role: 'tool', content, toolCallId: call.id }, ...isError }]
}

class SpecstoryReader implements TranscriptReader {
  private current: string | undefined
  private sessionId: string
  private open: OpenMessage | undefined
  private count = 0
  private isInTool = false
  private readonly quotations = new QuotedText<Line>((line) => HEADER.test(line))

  constructor(path: string) {
    this.sessionId = stemOf(path)
  }

  *take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
    const text = typeof value === 'string' ? value : ''
    for (const { line, isQuoted } of this.quotations.take({ text, where })) yield* this.takeLine(line, isQuoted)
  }

  *end(): Generator<TranscriptItem> {
    for (const { line, isQuoted } of this.quotations.end()) yield* this.takeLine(line, isQuoted)
    yield* this.close()
  }

  private *takeLine({ text: line, where }: Line, isQuoted: boolean): Generator<TranscriptItem> {
    const isText = isQuoted || this.isInTool
    const session = isText ? null : SESSION.exec(line)
    const header = isText ? null : HEADER.exec(line)
    const messageId = isText ? null : MESSAGE_ID.exec(line)
    if (!isQuoted) this.isInTool = (this.isInTool || line.startsWith('<tool-use')) && !line.includes('</tool-use>')
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
