/**
 * Recognizes files of programs without an importer, so that the error names the format of the file. To add a format,
 * add an entry and a test with the beginning of a file.
 */
import { isRecord } from '../../lib/is-record.js'
import { textIn } from '../../lib/text-in.js'
import { SQLITE } from './sqlite-header.js'
import type { Head } from './transcript.js'

/** A format that is recognized and rejected. */
export interface UnreadForm {
  /** A name that fits after "looks like", with its article. */
  readonly name: string
  /** Why it is not read: a clause about the name. */
  readonly reason: string
  /** Advice to the user. */
  readonly advice?: string
}

/** The file is of a program that talks to models, so that it may contain a conversation. */
const NO_IMPORTER = 'for which there is no importer'
const NO_CONVERSATION = 'which contains no conversation'
/** The file may contain a transcript in another form. */
const NOT_AS_IT_IS = 'which cannot be read as it is'

interface Known extends UnreadForm {
  readonly matches: (head: Head) => boolean
}

const IFLOW_SESSION = /^session-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu

/** Whether a record is one of iFlow CLI, whose records have the fields of Claude Code's and other meanings. */
export const isOfIFlow = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value['uuid'] === 'string' &&
  IFLOW_SESSION.test(textIn(value['sessionId']) ?? '') &&
  isRecord(value['message'])

/** Text in UTF-16, read as UTF-8, has a zero next to most letters. */
const isUtf16 = (text: string): boolean =>
  text.length > 3 && !text.startsWith('SQLite format 3') && (text.match(/\0/gu)?.length ?? 0) > text.length * 0.3

const hasFields = (value: unknown, ...fields: readonly string[]): boolean =>
  isRecord(value) && fields.every((field) => value[field] !== undefined)

/** The first lines of a text that are complete and not blank. */
const firstLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, 10)

/** Separators of values. Those of prose have a blank after them. */
const SEPARATORS = [/,(?!\s|$)/u, /;(?!\s|$)/u, /\t/u]

/** Whether all first lines have the same number of separators. */
function isTable(text: string): boolean {
  const lines = firstLines(text)
  return SEPARATORS.some((separator) => {
    const columns = lines.map((line) => line.replaceAll(/"[^"]*"/gu, '').split(separator).length)
    return lines.length > 1 && (columns[0] ?? 0) > 1 && columns.every((count) => count === columns[0])
  })
}

/** Whether a text has control characters other than white space and the escape character of logs. */
const hasControls = (text: string): boolean => /[^\P{Cc}\s]/u.test(text.replaceAll('\u001B', ''))

const LOG_LINE =
  /^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )/u

const isJson = (text: string): boolean => /^[[{]/u.test(text.replaceAll('\0', '').trimStart())

/** The first characters of files of gzip, zstd and bzip2, read as UTF-8. */
const COMPRESSED = ['\u001F\uFFFD\u0008', '(\uFFFD/\uFFFD', 'BZh']

/** Forms by the beginning of the file, the most specific first. */
const FORMS: readonly Known[] = [
  {
    name: 'a ZIP archive',
    reason: NOT_AS_IT_IS,
    advice: 'Unpack it, and import the files in it',
    matches: ({ text }) => text.startsWith('PK\u0003\u0004'),
  },
  {
    name: 'a compressed file',
    reason: NOT_AS_IT_IS,
    advice: 'Decompress it first',
    matches: ({ text }) => COMPRESSED.some((beginning) => text.startsWith(beginning)),
  },
  {
    name: 'text in UTF-16',
    reason: NOT_AS_IT_IS,
    advice: 'Convert it to UTF-8 first, for example with `iconv -f UTF-16 -t UTF-8`',
    matches: ({ text }) => isUtf16(text),
  },
  {
    name: 'a session of iFlow CLI',
    reason: NO_IMPORTER,
    matches: ({ records }) => records.some(isOfIFlow),
  },
  {
    name: 'a Markdown export of Cursor',
    reason: NO_IMPORTER,
    matches: ({ text }) => /^_Exported on .{4,60} from Cursor\b/mu.test(text),
  },
  {
    name: 'the list of prompts of Claude Code',
    reason: NO_CONVERSATION,
    advice: 'Its conversations are in `~/.claude/projects`',
    matches: ({ records: [first] }) => hasFields(first, 'display', 'pastedContents', 'project'),
  },
  {
    name: 'the list of prompts of Codex CLI',
    reason: NO_CONVERSATION,
    advice: 'Its conversations are in `~/.codex/sessions`',
    matches: ({ records: [first] }) => hasFields(first, 'session_id', 'ts', 'text'),
  },
  {
    name: 'the list of prompts of Gemini CLI',
    reason: NO_CONVERSATION,
    advice: 'Its conversations are in the directory `chats` next to it',
    matches: ({ records: [first] }) => Array.isArray(first) && hasFields(first[0], 'sessionId', 'messageId', 'message'),
  },
  {
    name: 'a trace of LangSmith',
    reason: NO_IMPORTER,
    matches: ({ records: [first] }) => hasFields(first, 'run_type', 'trace_id'),
  },
  {
    name: 'a trace of OpenTelemetry',
    reason: NO_IMPORTER,
    matches: ({ records: [first] }) => hasFields(first, 'resourceSpans') || hasFields(first, 'resourceLogs'),
  },
  { name: 'an empty file', reason: NO_CONVERSATION, matches: ({ text }) => text.trim() === '' },
  { name: 'a database of another program', reason: NO_IMPORTER, matches: ({ text }) => text.startsWith(SQLITE) },
  {
    name: 'an HTML page',
    reason: NOT_AS_IT_IS,
    advice: 'If it belongs to an export, import the JSON file of that export',
    matches: ({ text }) => /^\s*<(?:!doctype html|html)\b/iu.test(text),
  },
  {
    name: 'a binary file',
    reason: NO_CONVERSATION,
    matches: ({ text }) => !isJson(text) && hasControls(text),
  },
  {
    name: 'text that is not in UTF-8',
    reason: NOT_AS_IT_IS,
    advice: 'Convert it to UTF-8 first, for example with `iconv -f LATIN1 -t UTF-8`',
    matches: ({ text }) => !isJson(text) && text.includes('\uFFFD'),
  },
  {
    name: 'a log',
    reason: NO_CONVERSATION,
    matches: ({ text }) => firstLines(text).length > 0 && firstLines(text).every((line) => LOG_LINE.test(line)),
  },
  {
    name: 'a table of separated values',
    reason: NO_CONVERSATION,
    matches: ({ text }) => !isJson(text) && isTable(text),
  },
]

/** The form of a file that no importer reads; undefined if the form is not known. */
export const unreadFormOf = (head: Head): UnreadForm | undefined => FORMS.find(({ matches }) => matches(head))

/** The error message for a file of such a format. */
export const refusalOfForm = (
  file: string,
  { name, reason, advice }: UnreadForm,
  programs: readonly string[],
): string =>
  [
    `${file} looks like ${name}, ${reason}. `,
    advice === undefined ? '' : `${advice}. `,
    `There are importers for ${programs.join(', ')}`,
  ].join('')
