/** Transcripts of other programs, recorded as what these programs did. */
import { either as E } from 'fp-ts'
import { LRUCache } from 'lru-cache'
import { open } from 'node:fs/promises'
import {
  createTranscriptRecorder,
  type RecordedConversation,
  type RecordedTranscript,
  type RecordOptions,
  type TranscriptRecorder,
} from '../importers/record-transcript.js'
import {
  growsByLines,
  importers,
  readOn,
  readTranscript,
  recognizeTranscript,
  type RecognizedTranscript,
} from '../importers/index.js'
import { GrowingLines } from '../importers/growing-lines.js'
import { headOf } from '../importers/records-of.js'
import { fileKey, signatureOf } from '../importers/signature.js'
import type { DamageItem, Importer, Layout, TranscriptItem, TranscriptReader } from '../importers/transcript.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { Clock } from '../ports/clock.js'
import type { ImportedFiles } from '../ports/imported-files.js'
import { codeOf } from '../ports/store-error.js'
import type { Conversations } from '../recording/handle-command.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger } from './ledger.js'
import { bad, listenerGiven, nameOf, optionsGiven, settingsOf, signalGiven, textGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'
import type { ProvenanceOf } from './provenance.js'

/** How a transcript is imported. */
export interface ImportTranscriptOptions {
  /** The program that wrote it; left out, it is recognized by what it holds. */
  readonly from?: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Settings that its conversations go by once an edition of ours is adopted. */
  readonly policy?: PolicySettings
  /** Who asks; default: the ledger's. */
  readonly actor?: string
  /** The request that it belongs to; default: one of its own. */
  readonly correlationId?: string
  /** Ends the import behind the record that it is at. What is recorded stays. */
  readonly signal?: AbortSignal
  /** Hears of every item as it is read. */
  readonly onItem?: (item: TranscriptItem) => void
  /**
   * True keeps in memory where the file ended and what it takes to go on there, so that the next import that says so
   * reads only what was appended. That is for files of lines, which grow; others are read whole, and so is a file that
   * is not the one any more that was read. Default: false.
   */
  readonly resumable?: boolean
}

/** What became of a transcript. */
export interface ImportedTranscript {
  /** Its path, as it was given. */
  readonly file: string
  /** The program that wrote it, as `from` takes it. */
  readonly program: string
  /** True where it was imported before and has not changed since: it was not read. */
  readonly unchanged: boolean
  /** What became of each conversation in it. */
  readonly conversations: readonly RecordedConversation[]
  /** Records that say nothing of a conversation, by their kind. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Records that could not be read; one that is cut off at the end of the file among them. */
  readonly damage: readonly DamageItem[]
}

/** How a transcript is recorded while its program writes it. */
export interface OpenTranscriptOptions {
  /** The program that writes it, as `importTranscript` names it. */
  readonly from: string
  /** Tenant or owner of new conversations. */
  readonly scope?: string
  /** Who asks; default: the ledger's. */
  readonly actor?: string
}

/** A transcript that is recorded while its program writes it. */
export interface OpenTranscript {
  /**
   * Records what these records say, which come behind those before; every call waits for the one before it. What is
   * recorded already adds nothing, so a transcript that is opened anew is told from its beginning.
   */
  record(records: readonly unknown[]): Promise<readonly RecordedConversation[]>
}

const OPEN: Names<OpenTranscriptOptions> = { from: true, scope: true, actor: true }
const OPTIONS: Names<ImportTranscriptOptions> = {
  from: true,
  scope: true,
  policy: true,
  actor: true,
  correlationId: true,
  signal: true,
  onItem: true,
  resumable: true,
}

/** Characters of a file's beginning that a complaint shows. */
const SHOWN = 120

const programs = (): string[] => importers.map(({ program }) => program)

/** Whose a file is: by its name where one is given, else by what it holds. */
async function ofProgram(file: string, from: string | undefined): Promise<RecognizedTranscript> {
  const importer = importers.find(({ program }) => program === from)
  if (from !== undefined && importer === undefined)
    throw problem({ kind: 'NoSuchProgram', program: from, programs: programs() })
  if (importer === undefined) {
    const found = await recognizeTranscript(file)
    if (found !== undefined) return found
    const { text } = await headOf(file)
    throw problem({
      kind: 'UnknownTranscript',
      file,
      begins: JSON.stringify(text.slice(0, SHOWN)),
      programs: programs(),
    })
  }
  const layout = importer.recognize(await headOf(file))
  if (layout === undefined) throw problem({ kind: 'NotOfProgram', file, program: importer.program })
  return { importer, layout }
}

/** How the file that stands there by now is one of this program; undefined where it is none. */
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
  'log' | 'policy' | 'estimator' | 'importedFiles' | 'onProblem'
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
  /** What the import was told: with other options, the file is read anew. */
  readonly told: string
  readonly lines: GrowingLines
  readonly reader: TranscriptReader
  readonly recorder: TranscriptRecorder
}

/** Files whose places are kept in memory, and bytes that were read of all of them: the least used go first. */
const PLACES = 256
const BYTES_OF_PLACES = 1024 ** 3

/** How often a file is read anew because somebody else recorded of the same conversation meanwhile. */
const READINGS = 3

export function createTranscripts(parts: TranscriptsParts): Pick<Ledger, 'importTranscript' | 'openTranscript'> {
  const { gate, freshness, provenanceOf } = parts
  const files: ImportedFiles = parts.importedFiles
  const places = new LRUCache<string, Place>({
    max: PLACES,
    maxSize: BYTES_OF_PLACES,
    sizeCalculation: ({ lines }) => Math.max(1, lines.bytes),
  })

  /** Reads on at a place; undefined where the file is not the one any more that was read. */
  async function continued(
    file: string,
    key: string,
    place: Place,
    options: RecordOptions,
  ): Promise<ImportedTranscript | undefined> {
    const told = { file, program: place.program }
    const handle = await open(file)
    try {
      if (!(await place.lines.goesOn(handle))) return undefined
      const { size, mtimeMs } = await handle.stat()
      const before = place.lines.signature
      if (before?.bytes === size && before.changedMs === mtimeMs) {
        places.set(key, place)
        return { ...told, unchanged: true, conversations: [], leftOut: {}, damage: [] }
      }
      const recorded = await place.recorder.take(readOn(place.reader, place.lines.records(handle)), options)
      return E.isLeft(recorded) ? undefined : await kept(file, key, place, recorded.right)
    } finally {
      await handle.close()
    }
  }

  /** What became of a file that can be read on from here. */
  async function kept(
    file: string,
    key: string,
    place: Place,
    recorded: RecordedTranscript,
  ): Promise<ImportedTranscript> {
    // A file that changed under its reader is not the one that was read.
    const { signature } = place.lines
    if (signature !== undefined) {
      await files.remember(key, signature)
      places.set(key, place)
    }
    return shown(file, place.program, recorded)
  }

  function shown(
    file: string,
    program: string,
    { conversations, leftOut, damage }: RecordedTranscript,
  ): ImportedTranscript {
    for (const { position } of conversations) freshness.recordedHere({ position })
    return { file, program, unchanged: false, conversations, leftOut: Object.fromEntries(leftOut), damage }
  }

  return {
    async openTranscript(name, options) {
      const given = optionsGiven('openTranscript', options, OPEN)
      const file = textGiven('name', name)
      const importer = importers.find(({ program }) => program === given.from)
      if (importer === undefined)
        throw problem({ kind: 'NoSuchProgram', program: String(given.from), programs: programs() })
      const scope = given.scope === undefined ? undefined : nameOf('scope', given.scope)
      gate.writes('openTranscript')
      freshness.follow()
      const reader = importer.read(file)
      const recorder = createTranscriptRecorder(parts)
      const how = { program: importer.program, scope, settings: parts.policy, provenance: provenanceOf(given) }
      let line = 0
      let before: Promise<unknown> = Promise.resolve()

      async function* itemsOf(records: readonly unknown[]): AsyncGenerator<TranscriptItem> {
        for (const value of records) {
          line += 1
          yield* reader.take({ value, where: { file, line } })
        }
      }
      async function recordNext(records: readonly unknown[]): Promise<readonly RecordedConversation[]> {
        gate.writes('openTranscript')
        const { conversations } = valueOf(await recorder.take(itemsOf(records), how), problem)
        for (const { position } of conversations) freshness.recordedHere({ position })
        return conversations.map((each) => ({ ...each }))
      }
      return {
        record(records) {
          const next = before.then(() => recordNext(records))
          before = next.catch(() => undefined)
          return next
        },
      }
    },
    async importTranscript(path, options) {
      const given = optionsGiven('importTranscript', options, OPTIONS)
      const file = textGiven('path', path)
      signalGiven(given.signal)
      const { signal, resumable = false } = given
      if (typeof resumable !== 'boolean') throw bad('resumable', 'must be true or false')
      const onItem = listenerGiven('onItem', given.onItem, parts.onProblem)
      gate.writes('importTranscript')
      freshness.follow()
      const key = fileKey(file)
      const settings = settingsOf(given.policy)
      const optionsOf = (program: string): RecordOptions => ({
        program,
        scope: given.scope === undefined ? undefined : nameOf('scope', given.scope),
        settings: settings === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...settings },
        provenance: provenanceOf(given),
        signal,
        ...(onItem === undefined ? {} : { onItem }),
      })
      const told = JSON.stringify([file, given.scope, settings])
      const place = resumable ? places.get(key) : undefined
      // Whoever reads on has the place for itself, and puts it back when all of it is recorded.
      places.delete(key)
      if (place?.told === told && (given.from === undefined || given.from === place.program)) {
        const imported = await continued(file, key, place, optionsOf(place.program))
        if (imported !== undefined) return imported
      }
      const { importer, layout } = await ofProgram(file, given.from)
      const { program } = importer
      const before = await files.find(key)
      const signature = await signatureOf((await importer.siblings?.(file)) ?? [file], before)
      if (before?.sha256 === signature.sha256)
        return { file, program, unchanged: true, conversations: [], leftOut: {}, damage: [] }
      for (let readings = 1; ; readings += 1) {
        const recorder = createTranscriptRecorder(parts)
        const lines = resumable && growsByLines(file, importer, layout) ? new GrowingLines(file) : undefined
        const reader = importer.read(file)
        const handle = lines === undefined ? undefined : await open(file)
        try {
          const items =
            lines === undefined || handle === undefined
              ? readTranscript(file, importer, layout)
              : readOn(reader, lines.records(handle))
          const recorded = await recorder.take(items, optionsOf(program))
          // Another importer of the same conversation was faster: what it recorded is known the next time.
          if (E.isLeft(recorded) && MET.has(recorded.left.kind) && readings < READINGS) continue
          const taken = valueOf(recorded, problem)
          const whose = await layoutNow(file, importer)
          // It was moved away while it was read: there is nothing to know again.
          if (whose === 'gone') return shown(file, program, taken)
          // Another program wrote the file anew, or it was emptied: to this reader it said nothing, and is read again.
          if (whose !== layout) throw problem({ kind: 'NotOfProgram', file, program })
          if (lines !== undefined) return await kept(file, key, { program, told, lines, reader, recorder }, taken)
          await files.remember(key, signature)
          return shown(file, program, taken)
        } finally {
          await handle?.close()
        }
      }
    },
  }
}

/** What an import fails with where another one recorded of the same conversation at the same time. */
const MET: ReadonlySet<string> = new Set(['ConversationMoved', 'MessageIdTaken', 'MessageNotLive'])
