/** Transcripts of other programs, recorded as what these programs did. */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { open } from 'node:fs/promises'
import {
  createCheckTranscript,
  createTranscriptRecorder,
  type TranscriptRecorder,
} from '../application/importers/record-transcript.js'
import type {
  ObservedParent,
  RecordedConversation,
  RecordedTranscript,
  RecordOptions,
} from '../application/importers/recorded-transcript.js'
import {
  growsByLines,
  importers,
  readAppendedRecords,
  readTranscript,
  recognizeTranscript,
  type RecognizedTranscript,
} from '../application/importers/index.js'
import { keyedContentId, plainContentId, type ContentId } from '../application/importers/content-id.js'
import { isRecordedWithPlainIds } from '../application/importers/plain-ids.js'
import { GrowingLines } from '../application/importers/growing-lines.js'
import { headOf } from '../application/importers/records-of.js'
import { unreadFormOf } from '../application/importers/unread-forms.js'
import {
  conversationKey,
  fileKey,
  signaturesOf,
  type TranscriptSignatures,
} from '../application/importers/signature.js'
import type { Importer, Layout, TranscriptItem, TranscriptReader } from '../application/importers/transcript.js'
import { conversationStream } from '../domain/values/ids.js'
import type { Clock } from '../ports/clock.js'
import type { ImportedFiles } from '../ports/imported-files.js'
import { codeOf } from '../ports/store-error.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Log } from '../application/recording/load-conversation.js'
import { decodeEvent, isOfType } from '../application/recording/read-event.js'
import * as calls from '../schema/calls/transcripts.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Transcripts } from './ledger.js'
import type { ImportedTranscript } from './ledger-transcripts.js'
import { textGiven } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'
import { withLost } from './with-lost.js'

/** Characters of a file's beginning that a complaint shows. */
const SHOWN = 120

/** The programs with an importer. */
export const programs = (): string[] => importers.map(({ program }) => program)

/** The program of a file: as named, else recognized by its content. */
async function ofProgram(file: string, from: string | undefined): Promise<RecognizedTranscript> {
  const importer = importers.find(({ program }) => program === from)
  if (from !== undefined && importer === undefined)
    throw problem({ kind: 'NoSuchProgram', program: from, programs: programs() })
  if (importer === undefined) {
    const found = await recognizeTranscript(file)
    if (found !== undefined) return found
    const head = await headOf(file)
    throw problem({
      kind: 'UnknownTranscript',
      file,
      begins: JSON.stringify(head.text.slice(0, SHOWN)),
      programs: programs(),
      form: unreadFormOf(head),
    })
  }
  const layout = importer.recognize(await headOf(file))
  if (layout === undefined) throw problem({ kind: 'NotOfProgram', file, program: importer.program })
  return { importer, layout }
}

/** The layout of the file if the program still recognizes it; otherwise undefined. */
async function layoutNow(file: string, importer: Importer): Promise<Layout | 'gone' | undefined> {
  try {
    return importer.recognize(await headOf(file))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'gone'
    throw error
  }
}

export interface TranscriptsParts extends Pick<
  LedgerParts,
  'log' | 'policy' | 'estimator' | 'importedFiles' | 'lostCounts' | 'onProblem'
> {
  readonly clock: Clock
  readonly conversations: Conversations
  readonly summarizerWindowTokens: number
  readonly gate: Gate
  readonly freshness: Freshness
  readonly provenanceOf: ProvenanceOf
}

/** A transcript that was read as far as it went, and what it takes to go on there. */
interface Place {
  readonly program: string
  /** Options of the import. With other options the file is read from its beginning. */
  readonly optionsKey: string
  readonly lines: GrowingLines
  readonly reader: TranscriptReader
  readonly recorder: TranscriptRecorder
}

/**
 * Limits of the cached positions: number of files, and bytes read of all of them. The least recently used are
 * dropped.
 */
const PLACES = 256
const BYTES_OF_PLACES = 1024 ** 3

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** A conversation of the ledger as the parent of an imported one. */
export async function parentOf(log: Log, conversationId: string): Promise<ObservedParent> {
  let sourceId: string | undefined
  for await (const stored of log.store.readStream(conversationStream(conversationId))) {
    const event = await decodeEvent(stored, log)
    sourceId = isOfType(event, 'ConversationObserved') ? event.data.sourceId : (sourceId ?? conversationId)
    // The first events say it: the configuration, then where the conversation comes from.
    if (event.type !== 'ConversationConfigured') break
  }
  if (sourceId === undefined) throw problem({ kind: 'NoSuchConversation', conversationId })
  return { sourceId, conversationId, how: 'fork' }
}

/** Ids from content, keyed in an erasable ledger: a plain hash would confirm a guess of an erased text. */
export const ledgerContentId = ({ keys }: Log): ContentId =>
  keys === undefined ? plainContentId : keyedContentId((...text) => keys.fingerprint(...text))

/** Retries after another process recorded the same conversation at the same time. */
const READINGS = 3

export function createTranscripts(parts: TranscriptsParts): Pick<Transcripts, 'import' | 'open'> {
  const { gate, freshness, provenanceOf } = parts
  const files: ImportedFiles = parts.importedFiles
  const places = new LRUCache<string, Place>({
    max: PLACES,
    maxSize: BYTES_OF_PLACES,
    sizeCalculation: ({ lines }) => Math.max(1, lines.bytes),
  })

  /** The digest of a file in an erasable ledger is keyed: a plain one would confirm a guess of what was erased of it. */
  const digestOf = (sha256: string): string => parts.log.keys?.fingerprint('file', sha256) ?? sha256

  /** Of a file with many conversations, those that changed since their last import; undefined for other files. */
  async function changedOf(
    file: string,
    { conversations }: TranscriptSignatures,
    scope: string | undefined,
  ): Promise<TranscriptSignatures['conversations']> {
    if (conversations === undefined) return undefined
    const keyOf = (id: string): string => conversationKey(file, id, scope)
    const before = await files.find([...conversations.keys()].map(keyOf))
    return new Map([...conversations].filter(([id, { sha256 }]) => before.get(keyOf(id))?.sha256 !== sha256))
  }

  /** The ids with which a transcript is recorded, or was recorded before its log became erasable. */
  async function contentIdFor(
    file: string,
    importer: Importer,
    layout: Layout,
    scope: string | undefined,
  ): Promise<ContentId> {
    const { keys } = parts.log
    if (keys === undefined || importer.makesContentIds !== true) return ledgerContentId(parts.log)
    const isPlain = await isRecordedWithPlainIds(
      (contentId) => readTranscript(file, importer, layout, contentId),
      parts.log,
      importer.program,
      scope,
    )
    return isPlain ? plainContentId : ledgerContentId(parts.log)
  }

  /** Reads on at a place; undefined where the file is not the one any more that was read. */
  async function continued(
    file: string,
    key: string,
    place: Place,
    options: RecordOptions,
  ): Promise<ImportedTranscript | undefined> {
    const source = { file, program: place.program }
    const handle = await open(file)
    try {
      if (!(await place.lines.isContinuation(handle))) return undefined
      const { size, mtimeMs } = await handle.stat()
      const before = place.lines.signature
      if (before?.bytes === size && before.modifiedAtMs === mtimeMs) {
        places.set(key, place)
        return { ...source, unchanged: true, conversations: [], leftOut: {}, damage: [] }
      }
      const recorded = await place.recorder.take(readAppendedRecords(place.reader, place.lines.records(handle)), {
        ...options,
        writtenAt: timeOf(mtimeMs),
      })
      return E.isLeft(recorded) ? undefined : await cachedPlace(file, key, place, recorded.right)
    } finally {
      await handle.close()
    }
  }

  /** What became of a file that can be read on from here. */
  async function cachedPlace(
    file: string,
    key: string,
    place: Place,
    recorded: RecordedTranscript,
  ): Promise<ImportedTranscript> {
    // A file that changed under its reader is not the one that was read.
    const { signature } = place.lines
    if (signature !== undefined) {
      await files.remember(new Map([[key, { ...signature, sha256: digestOf(signature.sha256) }]]))
      places.set(key, place)
    }
    return await reportProgress(file, place.program, recorded)
  }

  async function reportProgress(
    file: string,
    program: string,
    { conversations: recorded, leftOut, damage }: RecordedTranscript,
  ): Promise<ImportedTranscript> {
    for (const { position } of recorded) freshness.recordedHere({ position })
    const conversations = await withLost(parts, recorded)
    return { file, program, unchanged: false, conversations, leftOut: Object.fromEntries(leftOut), damage }
  }

  return {
    async open(name, options) {
      const { from, scope, ...by } = gate.enter(calls.openTranscript, options)
      const file = textGiven('name', name)
      const importer = importers.find(({ program }) => program === from)
      if (importer === undefined) throw problem({ kind: 'NoSuchProgram', program: from, programs: programs() })
      freshness.follow()
      const how = { program: importer.program, scope, settings: parts.policy, provenance: provenanceOf(by) }
      /** The transcript before its first record. */
      const begin = () => ({
        reader: importer.read(file, ledgerContentId(parts.log)),
        recorder: createTranscriptRecorder(parts),
        line: 0,
      })
      const takenRecords: unknown[] = []
      let place = begin()
      let before: Promise<unknown> = Promise.resolve()

      async function* itemsOf(records: readonly unknown[]): AsyncGenerator<TranscriptItem> {
        for (const value of records) {
          place.line += 1
          yield* place.reader.take({ value, where: { file, line: place.line } })
        }
      }
      async function recordNext(records: readonly unknown[]): Promise<readonly RecordedConversation[]> {
        gate.writes('transcripts.open')
        try {
          const untaken = [...takenRecords.slice(place.line), ...records]
          const { conversations } = valueOf(await place.recorder.take(itemsOf(untaken), how), problem)
          for (const record of records) takenRecords.push(record)
          for (const { position } of conversations) freshness.recordedHere({ position })
          return conversations.map((each) => ({ ...each }))
        } catch (error) {
          // Nothing is known of how far the records were taken: the next call takes all again, and recognizes them.
          place = begin()
          throw error
        }
      }
      return {
        record(records) {
          const next = before.then(() => recordNext(records))
          before = next.catch(() => undefined)
          return next
        },
      }
    },
    async import(path, options) {
      const input = gate.enter(calls.importTranscript, options)
      const file = textGiven('path', path)
      const { signal, resumable = false, onItem, scope, policy: settings } = input
      freshness.follow()
      const key = fileKey(file, scope)
      const parent = input.continues === undefined ? undefined : await parentOf(parts.log, input.continues)
      const optionsOf = (program: string): RecordOptions => ({
        program,
        scope,
        settings: settings === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...settings },
        provenance: provenanceOf(input),
        parent,
        signal,
        ...(onItem === undefined ? {} : { onItem }),
      })
      const optionsKey = JSON.stringify([file, scope, settings, input.continues])
      const readPosition = resumable ? places.get(key) : undefined
      // The reader takes the position out of the cache, and returns it when everything is recorded.
      places.delete(key)
      if (
        readPosition?.optionsKey === optionsKey &&
        (input.from === undefined || input.from === readPosition.program)
      ) {
        const imported = await continued(file, key, readPosition, optionsOf(readPosition.program))
        if (imported !== undefined) return imported
      }
      const { importer, layout } = await ofProgram(file, input.from)
      const { program } = importer
      const before = (await files.find([key])).get(key)
      const signatures = await signaturesOf(file, importer, before, digestOf)
      if (before?.sha256 === signatures.file.sha256)
        return { file, program, unchanged: true, conversations: [], leftOut: {}, damage: [] }
      const changed = await changedOf(file, signatures, scope)
      const isWanted = (conversation: string): boolean => changed?.has(conversation) ?? true
      const contentId = await contentIdFor(file, importer, layout, scope)
      const { onItem: _listener, ...checkOptions } = optionsOf(program)
      valueOf(
        await createCheckTranscript(parts)(readTranscript(file, importer, layout, contentId, isWanted), checkOptions),
        problem,
      )
      for (let readings = 1; ; readings += 1) {
        const recorder = createTranscriptRecorder(parts)
        const lines = resumable && growsByLines(file, importer, layout) ? new GrowingLines(file) : undefined
        const reader = importer.read(file, contentId)
        const handle = lines === undefined ? undefined : await open(file)
        try {
          const items =
            lines === undefined || handle === undefined
              ? readTranscript(file, importer, layout, contentId, isWanted)
              : readAppendedRecords(reader, lines.records(handle))
          const writtenAt = timeOf(signatures.file.modifiedAtMs)
          const recorded = await recorder.take(items, { ...optionsOf(program), writtenAt })
          // Another importer of the same conversation was faster. The next attempt recognizes its events.
          if (E.isLeft(recorded) && MET.has(recorded.left.kind) && readings < READINGS) continue
          const result = valueOf(recorded, problem)
          const layoutAfter = await layoutNow(file, importer)
          // It was moved away while it was read: there is nothing to know again.
          if (layoutAfter === 'gone') return await reportProgress(file, program, result)
          // The file was rewritten or truncated. It is read again from its beginning.
          if (layoutAfter !== layout) throw problem({ kind: 'NotOfProgram', file, program })
          if (lines !== undefined)
            return await cachedPlace(file, key, { program, optionsKey, lines, reader, recorder }, result)
          await files.remember(
            new Map([
              [key, signatures.file],
              ...[...(changed ?? [])].map(([id, each]) => [conversationKey(file, id, scope), each] as const),
            ]),
          )
          return await reportProgress(file, program, result)
        } finally {
          await handle?.close()
        }
      }
    },
  }
}

/** What an import fails with where another one recorded of the same conversation at the same time. */
const MET: ReadonlySet<string> = new Set(['ConversationMoved', 'MessageIdTaken', 'MessageNotLive'])
