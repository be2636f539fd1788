/**
 * Recognizes files of programs without an importer, so that the error names the format of the file. To add a format,
 * add an entry and a test with the beginning of a file.
 */
import { isRecord } from '../lib/is-record.js'
import { textIn } from '../lib/text-in.js'
import type { Head } from './transcript.js'

/** A format that is recognized and rejected. */
export interface UnreadForm {
  /** A name that fits after "looks like". */
  readonly name: string
  /** Advice to the user. */
  readonly advice?: string
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

const FORMS: readonly Known[] = [
  {
    name: 'text in UTF-16',
    advice: 'Convert it to UTF-8 first, for example with `iconv -f UTF-16 -t UTF-8`',
    matches: ({ text }) => isUtf16(text),
  },
  {
    name: 'a session of iFlow CLI',
    matches: ({ records }) => records.some(isOfIFlow),
  },
  {
    name: 'a Markdown export of Cursor',
    matches: ({ text }) => /^_Exported on .{4,60} from Cursor\b/mu.test(text),
  },
]

/** The form of a file that no importer reads; undefined if the form is not known. */
export const unreadFormOf = (head: Head): UnreadForm | undefined => FORMS.find(({ matches }) => matches(head))

/** The error message for a file of such a format. */
export const refusalOfForm = (file: string, { name, advice }: UnreadForm, programs: readonly string[]): string =>
  `${file} looks like ${name}, for which there is no importer. ${advice === undefined ? '' : `${advice}. `}There are importers for ${programs.join(', ')}`
