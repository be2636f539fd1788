/** Transcripts of other programs, recorded as what these programs did. */
import { createRecordTranscript, openRecording, type RecordedConversation } from '../importers/record-transcript.js'
import { importers, readTranscript, recognizeTranscript, type RecognizedTranscript } from '../importers/index.js'
import { headOf } from '../importers/records-of.js'
import { fileKey, signatureOf } from '../importers/signature.js'
import type { DamageItem, TranscriptItem } from '../importers/transcript.js'
import type { PolicySettings } from '../domain/values/policy.js'
import type { Clock } from '../ports/clock.js'
import type { ImportedFiles } from '../ports/imported-files.js'
import type { Conversations } from '../recording/handle-command.js'
import type { Freshness } from './freshness.js'
import type { Gate } from './gate.js'
import type { Ledger } from './ledger.js'
import { listenerGiven, nameOf, optionsGiven, settingsOf, signalGiven, textGiven, type Names } from './options.js'
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

export function createTranscripts(parts: TranscriptsParts): Pick<Ledger, 'importTranscript' | 'openTranscript'> {
  const { gate, freshness, provenanceOf } = parts
  const record = createRecordTranscript(parts)
  const files: ImportedFiles = parts.importedFiles

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
      const recording = openRecording(parts, {
        program: importer.program,
        scope,
        settings: parts.policy,
        provenance: provenanceOf(given),
      })
      let line = 0
      let before: Promise<unknown> = Promise.resolve()

      async function recordNext(records: readonly unknown[]): Promise<readonly RecordedConversation[]> {
        gate.writes('openTranscript')
        for (const value of records) {
          line += 1
          for (const item of reader.take({ value, where: { file, line } })) valueOf(await recording.take(item), problem)
        }
        valueOf(await recording.flush(), problem)
        const { conversations } = recording.told()
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
      const { signal } = given
      const onItem = listenerGiven('onItem', given.onItem, parts.onProblem)
      gate.writes('importTranscript')
      freshness.follow()
      const { importer, layout } = await ofProgram(file, given.from)
      const key = fileKey(file)
      const before = await files.find(key)
      const signature = await signatureOf((await importer.siblings?.(file)) ?? [file], before)
      const told = { file, program: importer.program }
      if (before?.sha256 === signature.sha256)
        return { ...told, unchanged: true, conversations: [], leftOut: {}, damage: [] }
      const settings = settingsOf(given.policy)
      const recorded = valueOf(
        await record(readTranscript(file, importer, layout), {
          program: importer.program,
          scope: given.scope === undefined ? undefined : nameOf('scope', given.scope),
          settings: settings === undefined && parts.policy === undefined ? undefined : { ...parts.policy, ...settings },
          provenance: provenanceOf(given),
          signal,
          ...(onItem === undefined ? {} : { onItem }),
        }),
        problem,
      )
      for (const { position } of recorded.conversations) freshness.recordedHere({ position })
      await files.remember(key, signature)
      return {
        ...told,
        unchanged: false,
        conversations: recorded.conversations,
        leftOut: Object.fromEntries(recorded.leftOut),
        damage: recorded.damage,
      }
    },
  }
}
