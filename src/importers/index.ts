/** The programs whose transcripts can be read, how the program of a file is found, and how a file is read. */
import { recordable } from '../domain/text/json.js'
import { aider } from './aider.js'
import { chatgpt } from './chatgpt.js'
import { claudeCode } from './claude-code.js'
import { cline } from './cline.js'
import { codex } from './codex.js'
import { gemini } from './gemini.js'
import { opencode } from './opencode.js'
import { openhands } from './openhands.js'
import { pi } from './pi.js'
import { headOf, recordsOf, type RecordOrDamage } from './records-of.js'
import { roo } from './roo.js'
import { sweAgent } from './swe-agent.js'
import type { Importer, Layout, TranscriptItem, TranscriptReader } from './transcript.js'

/** All of them. A file is the first one's that recognizes it. */
export const importers: readonly Importer[] = [
  claudeCode,
  codex,
  pi,
  opencode,
  gemini,
  openhands,
  roo,
  cline,
  chatgpt,
  aider,
  sweAgent,
]

/** A file, and how it is read. */
export interface RecognizedTranscript {
  readonly importer: Importer
  readonly layout: Layout
}

/** Whose a file is, by what it holds; undefined where it is no program's that we know. */
export async function recognizeTranscript(path: string): Promise<RecognizedTranscript | undefined> {
  const head = await headOf(path)
  for (const importer of importers) {
    const layout = importer.recognize(head)
    if (layout !== undefined) return { importer, layout }
  }
  return undefined
}

/**
 * What a transcript says, in its order. Where a conversation is several files, they are read one after another, and
 * what can only be said at the end is said behind the last one.
 */
export async function* readTranscript(
  path: string,
  importer: Importer,
  layout: Layout,
): AsyncGenerator<TranscriptItem> {
  const reader = importer.read(path)
  const files = (await importer.siblings?.(path)) ?? [path]
  for (const file of files) yield* said(reader, importer.records?.(file, layout) ?? recordsOf(file, layout))
  yield* recordables(reader.end())
}

/** Whether what a file says is read on, where it grew, by the reader that read it so far. */
export const growsByLines = (path: string, importer: Importer, layout: Layout): boolean =>
  layout === 'lines' && importer.siblings === undefined && importer.records?.(path, layout) === undefined

/** What the records of a file say that grew, behind those that its reader took before. */
export async function* readOn(
  reader: TranscriptReader,
  records: AsyncIterable<RecordOrDamage>,
): AsyncGenerator<TranscriptItem> {
  yield* said(reader, records)
  yield* recordables(reader.end())
}

/** Numbers keep their digits on their way through a reader; what is recorded of them are texts. */
function* recordables(items: Iterable<TranscriptItem>): Generator<TranscriptItem> {
  for (const item of items) yield recordable(item)
}

async function* said(reader: TranscriptReader, records: AsyncIterable<RecordOrDamage>): AsyncGenerator<TranscriptItem> {
  for await (const record of records) {
    if ('kind' in record) yield record
    else yield* recordables(reader.take(record))
  }
}
