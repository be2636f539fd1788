/**
 * Makes the note of a session: waits until the compaction is in its transcript, imports it, and recalls the content that
 * the agent's context misses. The ledger is open only for that, so that other processes can write.
 */
import { rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sentenceOf } from '../../ports/store-error.js'
import { plainContentId } from '../../importers/content-id.js'
import { readTranscript, recognizeTranscript } from '../../importers/index.js'
import { isLedgerError } from '../../lib/ledger-error.js'
import type { Ledger } from '../../library/ledger.js'
import { readInstallation } from '../install/installation.js'
import { rulesOf } from '../config/rules.js'
import { withLedger } from '../session.js'
import { canaryNote, isCanary } from './canary.js'
import {
  endPending,
  hasEnded,
  lastNoted,
  logProblem,
  readPending,
  releaseNote,
  removeNote,
  writeNote,
  writeNoted,
  type PendingNote,
} from './hook-folder.js'

const POLL_MS = 100
/** The time before another attempt: it doubles up to the second value while the ledger cannot be opened. */
const REST_MS = 500
const LONGEST_REST_MS = 8_000
/** How long a worker waits for another compaction, if the last one has a note: a program may report one end twice. */
const NOTED_MS = 30_000
/** Events after the compaction, among which it is searched. */
const MOST_EVENTS = 2_000
/**
 * How much older a compaction may be than the start of the hook that reports it: a loaded machine starts processes late,
 * and two clocks may differ.
 */
const TOLERANCE_MS = 120_000
/** The same, once a hook has reported its end: a program may date a compaction at its start. */
const ENDED_TOLERANCE_MS = 720_000

/** Calls `work` with the ledger of the installation. */
type OpenLedger = <T>(
  needs: { readonly reads: boolean },
  work: (ledger: Ledger, rules: readonly string[]) => Promise<T>,
) => Promise<T>

/** The directory of exports of a program without transcript files. They are deleted after the import. */
const exportsFolder = (folder: string): string => join(folder, 'exports')

function openInstalled(folder: string, agent: string): OpenLedger {
  const { store, rules } = readInstallation(folder, agent)
  const flags = { store, resident: 'off', ...(rules === undefined ? {} : { rules }) }
  return async (needs, work) =>
    await withLedger(
      flags,
      needs.reads ? { reads: true } : { creates: true, ahead: false },
      async ({ ledger, config }) => await work(ledger, await rulesOf(config)),
    )
}

/** Imports the transcript. Returns the id of its conversation; undefined if it has none yet. */
async function importTranscript(
  ledger: Ledger,
  { agent, sessionId, transcript }: PendingNote,
): Promise<string | undefined> {
  const { conversations } = await ledger.transcripts.import(transcript, { from: agent })
  const ids = conversations.map(({ conversationId }) => conversationId)
  return ids.find((id) => id === `${agent}/${sessionId}`) ?? ids[0]
}

/** The date that a compaction has at least, so that it is the one that a hook has reported. */
const earliestOf = ({ reportedAt }: PendingNote, isOver: boolean): number =>
  reportedAt - (isOver ? ENDED_TOLERANCE_MS : TOLERANCE_MS)

/**
 * Whether the transcript has a compaction that can be the reported one: `new`, or `noted` if it already has a note. The
 * ledger is not needed for this.
 */
async function findCompaction(
  { transcript }: PendingNote,
  earliest: number,
  noted: string | undefined,
): Promise<'new' | 'noted' | undefined> {
  const recognized = await recognizeTranscript(transcript)
  // The import names the reason.
  if (recognized === undefined) return 'new'
  const { importer, layout } = recognized
  let found: 'new' | 'noted' | undefined
  for await (const item of readTranscript(transcript, importer, layout, plainContentId))
    if (item.kind === 'compaction' && isSince(item.at, earliest)) found = item.sourceId === noted ? 'noted' : 'new'
  return found
}

/** A compaction without a date may be any. */
const isSince = (at: string | undefined, earliest: number): boolean => at === undefined || !(Date.parse(at) < earliest)

/** A note, and the compaction for which it was made, by the program's own id. */
interface MadeNote {
  readonly text: string
  readonly compactionId: string
}

/** The note for the last compaction. Undefined if it is older than the reported one, or has a note. */
async function noteFor(
  ledger: Ledger,
  conversationId: string,
  earliest: number,
  noted: string | undefined,
  rules: readonly string[],
): Promise<MadeNote | undefined> {
  try {
    for await (const event of ledger.log(conversationId, { direction: 'backwards', limit: MOST_EVENTS })) {
      if (event.type !== 'CompactionObserved') continue
      const { sourceId, at = event.metadata.recordedAt } = event.data
      if (sourceId === noted || !isSince(at, earliest)) return undefined
      return { text: (await ledger.recall(conversationId, { rules })).text, compactionId: sourceId }
    }
  } catch (error) {
    if (!isLedgerError(error, 'NoSuchConversation')) throw error
  }
  return undefined
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1

/** Imports the transcript and makes the note. Undefined if the compaction is not in it. */
async function attempt(
  pending: PendingNote,
  earliest: number,
  noted: string | undefined,
  open: OpenLedger,
): Promise<MadeNote | undefined> {
  const expectedId = `${pending.agent}/${pending.sessionId}`
  try {
    return await open(
      { reads: false },
      async (ledger, rules) =>
        await noteFor(ledger, (await importTranscript(ledger, pending)) ?? expectedId, earliest, noted, rules),
    )
  } catch (error) {
    if (!isLedgerError(error, 'FolderLocked')) throw error
    // The other process may be the one that follows this transcript.
    const found = await open(
      { reads: true },
      async (ledger, rules) => await noteFor(ledger, expectedId, earliest, noted, rules),
    )
    if (found === undefined) throw error
    return found
  }
}

/** Whether another attempt may succeed: the ledger is locked, is being created, or its disk is full. */
const isTemporary = (error: unknown): boolean =>
  !isLedgerError(error) || error.fault === 'world' || error.kind === 'NoLedger'

/** The work of a worker until the note waits for its agent, or the time is over. */
class Attempts {
  private size = -1
  private isOver = false
  private made: MadeNote | undefined
  /** The reported compaction seems to be one that has a note: the worker ends then. */
  private notedUntil: number | undefined
  private problem: unknown
  private rest = REST_MS

  constructor(
    private readonly folder: string,
    private readonly key: string,
    private readonly pending: PendingNote,
    private readonly open: OpenLedger,
  ) {}

  async run(): Promise<void> {
    const { sessionId, transcript, until } = this.pending
    for (;;) {
      // Read before the attempt, so that the last attempt follows all that happened in time.
      const isLast = Date.now() >= Math.min(until, this.notedUntil ?? until)
      if (await this.succeeds()) return
      if (isLast) break
      await delay(Math.min(this.rest, Math.max(POLL_MS, until - Date.now())))
    }
    if (this.problem !== undefined) throw this.problem
    // A program may announce a compaction and then not need it.
    if (this.isOver && this.notedUntil === undefined)
      throw new Error(`no compaction of session ${sessionId} appeared in ${transcript}`)
  }

  private async succeeds(): Promise<boolean> {
    try {
      if (this.made === undefined && this.isChanged()) this.made = await this.make()
      this.problem = undefined
      this.rest = REST_MS
      if (this.made === undefined) return false
      writeNoted(this.folder, this.key, this.made.compactionId)
      // An erasure removes the record of a note in the making.
      if (this.made.text !== '' && readPending(this.folder, this.key) !== undefined)
        writeNote(this.folder, this.key, this.made.text)
      return true
    } catch (error) {
      if (!isTemporary(error)) throw error
      this.problem = error
      this.rest = Math.min(LONGEST_REST_MS, this.rest * 2)
      return false
    }
  }

  /** Whether an attempt may give another result than the last one. */
  private isChanged(): boolean {
    const [size, isOver] = [sizeOf(this.pending.transcript), hasEnded(this.folder, this.key)]
    const isSame = size === this.size && isOver === this.isOver && this.problem === undefined
    this.size = size
    this.isOver = isOver
    return size >= 0 && !isSame
  }

  private async make(): Promise<MadeNote | undefined> {
    const noted = lastNoted(this.folder, this.key)
    const earliest = earliestOf(this.pending, this.isOver)
    const found = await findCompaction(this.pending, earliest, noted)
    if (found === 'noted') this.notedUntil ??= Date.now() + NOTED_MS
    if (found === 'noted') releaseNote(this.folder, this.key)
    if (found !== 'new') return undefined
    this.notedUntil = undefined
    removeNote(this.folder, this.key)
    return await attempt(this.pending, earliest, noted, this.open)
  }
}

/** The note of a canary: whether the ledger can be opened. One that does not exist is made with the first note. */
async function answerCanary(sessionId: string, open: OpenLedger): Promise<string> {
  try {
    await open({ reads: true }, async (ledger) => await ledger.list({ limit: 1 }))
    return canaryNote(sessionId, undefined)
  } catch (error) {
    return canaryNote(sessionId, isLedgerError(error, 'NoLedger') ? undefined : sentenceOf(error))
  }
}

/** Makes the pending note of a session. A problem is logged; the agent then continues without a note. */
export async function makeNote(folder: string, key: string, open?: OpenLedger): Promise<void> {
  const pending = readPending(folder, key)
  if (pending === undefined) return
  try {
    const opens = open ?? openInstalled(folder, pending.agent)
    if (isCanary(pending.sessionId)) writeNote(folder, key, await answerCanary(pending.sessionId, opens))
    else await new Attempts(folder, key, pending, opens).run()
  } catch (error) {
    logProblem(folder, pending.agent, error)
  }
  endPending(folder, key)
  const isExport = !relative(exportsFolder(folder), pending.transcript).startsWith('..')
  if (isExport) rmSync(pending.transcript, { force: true })
}
