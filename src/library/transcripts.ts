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
import { codeOf } from '../ports/store-error.js'
import type { Conversations } from '../application/recording/handle-command.js'
import type { Log } from '../application/recording/load-conversation.js'
import { decodeEvent, isOfType } from '../application/recording/read-event.js'
import type { OutputOf } from '../schema/call.js'
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

/** Transcripts in files, and transcripts that are recorded while their program writes them. */
export function createTranscripts(parts: TranscriptsParts): Pick<Transcripts, 'import' | 'open'> {
  const { gate, freshness, provenanceOf } = parts
  const imports = new TranscriptImports(parts)
  return {
    async open(name, options) {
      const { from, scope, ...by } = gate.enter(calls.openTranscript, options)
      const file = textGiven('name', name)
      const importer = importers.find(({ program }) => program === from)
      if (importer === undefined) throw problem({ kind: 'NoSuchProgram', program: from, programs: programs() })
      freshness.follow()
      const how = { program: importer.program, scope, settings: parts.policy, provenance: provenanceOf(by) }
      const transcript = new GrowingTranscript(parts, file, importer, how)
      return { record: (records) => transcript.record(records) }
    },
    async import(path, options) {
      const input = gate.enter(calls.importTranscript, options)
      const file = textGiven('path', path)
      freshness.follow()
      return await imports.import(file, input)
    },
  }
}

/** A transcript that is recorded while its program writes it. Calls wait for each other. */
class GrowingTranscript {
  private readonly takenRecords: unknown[] = []
  private place: ReturnType<GrowingTranscript['begin']>
  private before: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly parts: TranscriptsParts,
    private readonly file: string,
    private readonly importer: Importer,
    private readonly how: RecordOptions,
  ) {
    this.place = this.begin()
  }

  record(records: readonly unknown[]): Promise<readonly RecordedConversation[]> {
    const next = this.before.then(() => this.recordNext(records))
    this.before = next.catch(() => undefined)
    return next
  }

  /** The transcript before its first record. */
  private begin() {
    return {
      reader: this.importer.read(this.file, ledgerContentId(this.parts.log)),
      recorder: createTranscriptRecorder(this.parts),
      line: 0,
    }
  }

  private async recordNext(records: readonly unknown[]): Promise<readonly RecordedConversation[]> {
    const { gate, freshness } = this.parts
    gate.writes('transcripts.open')
    try {
      const untaken = [...this.takenRecords.slice(this.place.line), ...records]
      const { conversations } = valueOf(await this.place.recorder.take(this.itemsOf(untaken), this.how), problem)
      for (const record of records) this.takenRecords.push(record)
      for (const { position } of conversations) freshness.noteRecorded({ position })
      return conversations.map((each) => ({ ...each }))
    } catch (error) {
      // Nothing is known of how far the records were taken: the next call takes all again, and recognizes them.
      this.place = this.begin()
      throw error
    }
  }

  private async *itemsOf(records: readonly unknown[]): AsyncGenerator<TranscriptItem> {
    for (const value of records) {
      this.place.line += 1
      yield* this.place.reader.take({ value, where: { file: this.file, line: this.place.line } })
    }
  }
}

/** A file to import: its program, and how it is read and recorded. */
interface FileImport {
  readonly file: string
  /** Of the remembered file. */
  readonly key: string
  /** Other options read the file from its beginning. */
  readonly optionsKey: string
  readonly input: OutputOf<ReturnType<(typeof calls.importTranscript)['options']>>
  readonly optionsOf: (program: string) => RecordOptions
}

/** A file of a recognized program, with the conversations that changed since their last import. */
interface RecognizedFile extends RecognizedTranscript {
  readonly contentId: ContentId
  readonly signatures: TranscriptSignatures
  /** Undefined for a file that is always read whole. */
  readonly changed: TranscriptSignatures['conversations']
}

/** Imports files. A growing one is read on from where it ended. */
class TranscriptImports {
  private readonly places = new LRUCache<string, Place>({
    max: PLACES,
    maxSize: BYTES_OF_PLACES,
    sizeCalculation: ({ lines }) => Math.max(1, lines.bytes),
  })

  constructor(private readonly parts: TranscriptsParts) {}

  async import(file: string, input: FileImport['input']): Promise<ImportedTranscript> {
    const { log, policy, provenanceOf, importedFiles } = this.parts
    const { signal, resumable = false, onItem, scope, policy: settings, continues } = input
    const parent = continues === undefined ? undefined : await parentOf(log, continues)
    const optionsOf = (program: string): RecordOptions => ({
      program,
      scope,
      settings: settings === undefined && policy === undefined ? undefined : { ...policy, ...settings },
      provenance: provenanceOf(input),
      parent,
      signal,
      ...(onItem === undefined ? {} : { onItem }),
    })
    const key = fileKey(file, scope)
    const optionsKey = JSON.stringify([file, scope, settings, continues])
    const request = { file, key, optionsKey, input, optionsOf }
    const place = resumable ? this.places.get(key) : undefined
    // The reader takes the position out of the cache, and returns it when everything is recorded.
    this.places.delete(key)
    if (place?.optionsKey === optionsKey && (input.from === undefined || input.from === place.program)) {
      const imported = await this.continued(request, place)
      if (imported !== undefined) return imported
    }
    const { importer, layout } = await ofProgram(file, input.from)
    const before = (await importedFiles.find([key])).get(key)
    const signatures = await signaturesOf(file, importer, before, (sha256) => this.digestOf(sha256))
    if (before?.sha256 === signatures.file.sha256) return unchanged(file, importer.program)
    const changed = await this.changedOf(file, signatures, scope)
    const contentId = await this.contentIdFor(file, importer, layout, scope)
    return await this.importWhole(request, { importer, layout, contentId, signatures, changed })
  }

  /** Reads on at a place; undefined if the file is no longer the one that was read. */
  private async continued(request: FileImport, place: Place): Promise<ImportedTranscript | undefined> {
    const { file, key, optionsOf } = request
    const handle = await open(file)
    try {
      if (!(await place.lines.isContinuation(handle))) return undefined
      const { size, mtimeMs } = await handle.stat()
      const before = place.lines.signature
      if (before?.bytes === size && before.modifiedAtMs === mtimeMs) {
        this.places.set(key, place)
        return unchanged(file, place.program)
      }
      const recorded = await place.recorder.take(readAppendedRecords(place.reader, place.lines.records(handle)), {
        ...optionsOf(place.program),
        writtenAt: timeOf(mtimeMs),
      })
      return E.isLeft(recorded) ? undefined : await this.rememberPlace(request, place, recorded.right)
    } finally {
      await handle.close()
    }
  }

  /** Checks the whole file, and records it. */
  private async importWhole(request: FileImport, found: RecognizedFile): Promise<ImportedTranscript> {
    const { onItem: _listener, ...checkOptions } = request.optionsOf(found.importer.program)
    valueOf(await createCheckTranscript(this.parts)(this.itemsOf(request, found), checkOptions), problem)
    for (let readings = 1; ; readings += 1) {
      const recorder = createTranscriptRecorder(this.parts)
      const imported = await this.recordWhole(request, found, recorder, readings === READINGS)
      if (imported !== undefined) return imported
    }
  }

  /** Undefined if another importer of the same conversation was faster: the next reading recognizes its events. */
  private async recordWhole(
    request: FileImport,
    found: RecognizedFile,
    recorder: TranscriptRecorder,
    isLast: boolean,
  ): Promise<ImportedTranscript | undefined> {
    const { file, key, optionsKey, input, optionsOf } = request
    const { importer, layout, contentId, signatures, changed } = found
    const { program } = importer
    const grows = input.resumable === true && growsByLines(file, importer, layout)
    const lines = grows ? new GrowingLines(file) : undefined
    const reader = importer.read(file, contentId)
    const handle = lines === undefined ? undefined : await open(file)
    try {
      const items =
        lines === undefined || handle === undefined
          ? this.itemsOf(request, found)
          : readAppendedRecords(reader, lines.records(handle))
      const writtenAt = timeOf(signatures.file.modifiedAtMs)
      const recorded = await recorder.take(items, { ...optionsOf(program), writtenAt })
      if (E.isLeft(recorded) && MET.has(recorded.left.kind) && !isLast) return undefined
      const result = valueOf(recorded, problem)
      const layoutAfter = await layoutNow(file, importer)
      // It was moved away while it was read: there is nothing to know again.
      if (layoutAfter === 'gone') return await this.report(file, program, result)
      // The file was rewritten or truncated. It is read again from its beginning.
      if (layoutAfter !== layout) throw problem({ kind: 'NotOfProgram', file, program })
      if (lines !== undefined)
        return await this.rememberPlace(request, { program, optionsKey, lines, reader, recorder }, result)
      await this.parts.importedFiles.remember(
        new Map([
          [key, signatures.file],
          ...[...(changed ?? [])].map(([id, each]) => [conversationKey(file, id, input.scope), each] as const),
        ]),
      )
      return await this.report(file, program, result)
    } finally {
      await handle?.close()
    }
  }

  private itemsOf({ file }: FileImport, { importer, layout, contentId, changed }: RecognizedFile) {
    return readTranscript(file, importer, layout, contentId, (conversation) => changed?.has(conversation) ?? true)
  }

  /** Of a file with many conversations, those that changed since their last import; undefined for other files. */
  private async changedOf(
    file: string,
    { conversations }: TranscriptSignatures,
    scope: string | undefined,
  ): Promise<TranscriptSignatures['conversations']> {
    if (conversations === undefined) return undefined
    const keyOf = (id: string): string => conversationKey(file, id, scope)
    const before = await this.parts.importedFiles.find([...conversations.keys()].map(keyOf))
    return new Map([...conversations].filter(([id, { sha256 }]) => before.get(keyOf(id))?.sha256 !== sha256))
  }

  /** The ids with which a transcript is recorded, or was recorded before its log became erasable. */
  private async contentIdFor(
    file: string,
    importer: Importer,
    layout: Layout,
    scope: string | undefined,
  ): Promise<ContentId> {
    const { log } = this.parts
    if (log.keys === undefined || importer.makesContentIds !== true) return ledgerContentId(log)
    const isPlain = await isRecordedWithPlainIds(
      (contentId) => readTranscript(file, importer, layout, contentId),
      log,
      importer.program,
      scope,
    )
    return isPlain ? plainContentId : ledgerContentId(log)
  }

  /** The digest of a file in an erasable ledger is keyed: a plain one would confirm a guess of what was erased of it. */
  private digestOf(sha256: string): string {
    return this.parts.log.keys?.fingerprint('file', sha256) ?? sha256
  }

  /** The result for a file that can be read on from here. */
  private async rememberPlace(
    { file, key }: FileImport,
    place: Place,
    recorded: RecordedTranscript,
  ): Promise<ImportedTranscript> {
    // A file that changed under its reader is not the one that was read.
    const { signature } = place.lines
    if (signature !== undefined) {
      const digest = { ...signature, sha256: this.digestOf(signature.sha256) }
      await this.parts.importedFiles.remember(new Map([[key, digest]]))
      this.places.set(key, place)
    }
    return await this.report(file, place.program, recorded)
  }

  private async report(
    file: string,
    program: string,
    { conversations: recorded, leftOut, damage }: RecordedTranscript,
  ): Promise<ImportedTranscript> {
    for (const { position } of recorded) this.parts.freshness.noteRecorded({ position })
    const conversations = await withLost(this.parts, recorded)
    return { file, program, unchanged: false, conversations, leftOut: Object.fromEntries(leftOut), damage }
  }
}

/** The result for a file that did not change since its last import. */
const unchanged = (file: string, program: string): ImportedTranscript => ({
  file,
  program,
  unchanged: true,
  conversations: [],
  leftOut: {},
  damage: [],
})

/** What an import fails with where another one recorded of the same conversation at the same time. */
const MET: ReadonlySet<string> = new Set(['ConversationMoved', 'MessageIdTaken', 'MessageNotLive'])
