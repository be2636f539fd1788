/** The supported programs, how the program of a file is recognized, and how a file is read. */
import { recordable } from '../../lib/json.js'
import { acp } from './acp.js'
import { aider } from './aider.js'
import { amp } from './amp.js'
import { atif } from './atif.js'
import { chatgpt } from './chatgpt.js'
import { claudeCode } from './claude-code.js'
import { claudeCodeStream } from './claude-code-stream.js'
import { claudeAi } from './claude-ai.js'
import { cline } from './cline.js'
import type { ContentId } from './content-id.js'
import { codex } from './codex.js'
import { codexExec } from './codex-exec.js'
import { copilotCli } from './copilot-cli.js'
import { continueDev } from './continue.js'
import { crush } from './crush.js'
import { cursor } from './cursor.js'
import { gemini } from './gemini.js'
import { goose } from './goose.js'
import { kimi } from './kimi.js'
import { litellm } from './litellm.js'
import { miniSweAgent } from './mini-swe-agent.js'
import { openaiMessages } from './openai-messages.js'
import { opencode } from './opencode.js'
import { openhands } from './openhands.js'
import { pi } from './pi.js'
import { headOf, headOfText, recordsOf, recordsOfText, type RecordOrDamage } from './records-of.js'
import { qwen } from './qwen.js'
import { roo } from './roo.js'
import { withShallowValues } from './shallow-values.js'
import { specstory } from './specstory.js'
import { sweAgent } from './swe-agent.js'
import { vscodeCopilot } from './vscode-copilot.js'
import { zed } from './zed.js'
import type { Importer, Layout, TranscriptItem, TranscriptReader } from './transcript.js'

/** All importers. The first one that recognizes a file reads it. */
export const importers: readonly Importer[] = [
  claudeCode,
  claudeCodeStream,
  codex,
  codexExec,
  pi,
  opencode,
  gemini,
  qwen,
  copilotCli,
  vscodeCopilot,
  goose,
  kimi,
  cursor,
  claudeAi,
  amp,
  continueDev,
  zed,
  acp,
  crush,
  openhands,
  roo,
  cline,
  chatgpt,
  aider,
  sweAgent,
  miniSweAgent,
  specstory,
  litellm,
  atif,
  openaiMessages,
].map(withShallowValues)

/** The importer and the layout of a file. */
export interface RecognizedTranscript {
  readonly importer: Importer
  readonly layout: Layout
}

/** The name of a program for people. */
export const titleOfProgram = (program: string): string =>
  importers.find((each) => each.program === program)?.title ?? program

/** Recognizes the program of a file by its content; undefined if no importer recognizes it. */
export async function recognizeTranscript(path: string): Promise<RecognizedTranscript | undefined> {
  const head = await headOf(path)
  for (const importer of importers) {
    const layout = importer.recognize(head)
    // Another text may quote a line of a transcript.
    if (layout === 'lines' && !hasLinesOfJson(head.text)) continue
    if (layout !== undefined) return { importer, layout }
  }
  return undefined
}

/** Whether at least half of the first lines contain JSON, whole or damaged. */
function hasLinesOfJson(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.filter((line) => line.includes('{')).length * 2 >= lines.length
}

/**
 * The items of a transcript, in order. If a conversation consists of several files, they are read one after another,
 * and the final items follow the last one.
 * @param isWanted whether a conversation of the importer's `digests` is read; by default all are
 */
export async function* readTranscript(
  path: string,
  importer: Importer,
  layout: Layout,
  contentId: ContentId,
  isWanted?: (conversation: string) => boolean,
): AsyncGenerator<TranscriptItem> {
  const reader = importer.read(path, contentId)
  const files = (await importer.siblings?.(path)) ?? [path]
  for (const file of files)
    yield* itemsFrom(reader, importer.records?.(file, layout, isWanted) ?? recordsOf(file, layout))
  yield* toRecordable(reader.end())
}

/** The items of a text, as those of the file that will have it; undefined if the program does not recognize it. */
export function itemsOfText(
  text: string,
  file: string,
  importer: Importer,
  contentId: ContentId,
): readonly TranscriptItem[] | undefined {
  const layout = importer.recognize(headOfText(file, text))
  if (layout === undefined) return undefined
  const reader = importer.read(file, contentId)
  const items = recordsOfText(text, file, layout).flatMap((record) =>
    'kind' in record ? [record] : [...toRecordable(reader.take(record))],
  )
  return [...items, ...toRecordable(reader.end())]
}

/** Whether a file that has grown is continued by the reader that read it so far. */
export const growsByLines = (path: string, importer: Importer, layout: Layout): boolean =>
  layout === 'lines' && importer.siblings === undefined && importer.records?.(path, layout) === undefined

/** The items of records that were appended to a file since its reader last read it. */
export async function* readAppendedRecords(
  reader: TranscriptReader,
  records: AsyncIterable<RecordOrDamage>,
): AsyncGenerator<TranscriptItem> {
  yield* itemsFrom(reader, records)
  yield* toRecordable(reader.end())
}

/** A reader keeps all digits of numbers; this converts them to texts for recording. */
function* toRecordable(items: Iterable<TranscriptItem>): Generator<TranscriptItem> {
  for (const item of items) yield recordable(item)
}

async function* itemsFrom(
  reader: TranscriptReader,
  records: AsyncIterable<RecordOrDamage>,
): AsyncGenerator<TranscriptItem> {
  for await (const record of records) {
    if ('kind' in record) yield record
    else yield* toRecordable(reader.take(record))
  }
}
