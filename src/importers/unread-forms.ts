/**
 * Recognizes files of programs without an importer, so that the error names the format of the file. To add a format,
 * add an entry and a test with the beginning of a file.
 */
import { isRecord } from '../lib/is-record.js'
import { textIn } from '../lib/text-in.js'
import { SQLITE } from './sqlite.js'
import type { Head } from './transcript.js'

/** A format that is recognized and rejected. */
export interface UnreadForm {
  /** A name that fits after "looks like", with its article. */
  readonly name: string
  /** Advice to the user. */
  readonly advice?: string
  /** Whether a program that talks to models wrote the file, so that it may contain a conversation. */
  readonly isOfProgram?: true
}

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

/** Whether all first lines have the same number of separators. */
function isTable(text: string): boolean {
  const lines = firstLines(text)
  return [',', ';', '\t'].some((separator) => {
    const columns = lines.map((line) => line.replaceAll(/"[^"]*"/gu, '').split(separator).length)
    return lines.length > 1 && (columns[0] ?? 0) > 1 && columns.every((count) => count === columns[0])
  })
}

const LOG_LINE =
  /^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )/u

const isJson = (text: string): boolean => /^[[{]/u.test(text.replaceAll('\0', '').trimStart())

/** The first characters of files of gzip, zstd and bzip2, read as UTF-8. */
const COMPRESSED = ['\u001F\uFFFD\u0008', '(\uFFFD/\uFFFD', 'BZh']

/** Forms by the beginning of the file, the most specific first. */
const FORMS: readonly Known[] = [
  {
    name: 'a ZIP archive',
    advice: 'Unpack it, and import the files in it',
    matches: ({ text }) => text.startsWith('PK\u0003\u0004'),
  },
  {
    name: 'a compressed file',
    advice: 'Decompress it first',
    matches: ({ text }) => COMPRESSED.some((beginning) => text.startsWith(beginning)),
  },
  {
    name: 'text in UTF-16',
    advice: 'Convert it to UTF-8 first, for example with `iconv -f UTF-16 -t UTF-8`',
    isOfProgram: true,
    matches: ({ text }) => isUtf16(text),
  },
  {
    name: 'a session of iFlow CLI',
    isOfProgram: true,
    matches: ({ records }) => records.some(isOfIFlow),
  },
  {
    name: 'a Markdown export of Cursor',
    isOfProgram: true,
    matches: ({ text }) => /^_Exported on .{4,60} from Cursor\b/mu.test(text),
  },
  {
    name: 'the list of prompts of Claude Code',
    advice: 'Its conversations are in `~/.claude/projects`',
    isOfProgram: true,
    matches: ({ records: [first] }) => hasFields(first, 'display', 'pastedContents', 'project'),
  },
  {
    name: 'the list of prompts of Codex CLI',
    advice: 'Its conversations are in `~/.codex/sessions`',
    isOfProgram: true,
    matches: ({ records: [first] }) => hasFields(first, 'session_id', 'ts', 'text'),
  },
  {
    name: 'the list of prompts of Gemini CLI',
    advice: 'Its conversations are in the directory `chats` next to it',
    isOfProgram: true,
    matches: ({ records: [first] }) => Array.isArray(first) && hasFields(first[0], 'sessionId', 'messageId', 'message'),
  },
  {
    name: 'a trace of LangSmith',
    isOfProgram: true,
    matches: ({ records: [first] }) => hasFields(first, 'run_type', 'trace_id'),
  },
  {
    name: 'a trace of OpenTelemetry',
    isOfProgram: true,
    matches: ({ records: [first] }) => hasFields(first, 'resourceSpans') || hasFields(first, 'resourceLogs'),
  },
  { name: 'an empty file', matches: ({ text }) => text.trim() === '' },
  { name: 'a database of another program', matches: ({ text }) => text.startsWith(SQLITE) },
  {
    name: 'an HTML page',
    advice: 'If it belongs to an export, import the JSON file of that export',
    matches: ({ text }) => /^\s*<(?:!doctype html|html)\b/iu.test(text),
  },
  { name: 'a binary file', matches: ({ text }) => !isJson(text) && (text.includes('\0') || text.includes('\uFFFD')) },
  {
    name: 'a log',
    matches: ({ text }) => firstLines(text).length > 0 && firstLines(text).every((line) => LOG_LINE.test(line)),
  },
  { name: 'a table of separated values', matches: ({ text }) => !isJson(text) && isTable(text) },
]

/** The form of a file that no importer reads; undefined if the form is not known. */
export const unreadFormOf = (head: Head): UnreadForm | undefined => FORMS.find(({ matches }) => matches(head))

/** The error message for a file of such a format. */
export const refusalOfForm = (
  file: string,
  { name, advice, isOfProgram }: UnreadForm,
  programs: readonly string[],
): string =>
  [
    `${file} looks like ${name}, ${isOfProgram === true ? 'for which there is no importer' : 'which contains no conversation'}. `,
    advice === undefined ? '' : `${advice}. `,
    `There are importers for ${programs.join(', ')}`,
  ].join('')
