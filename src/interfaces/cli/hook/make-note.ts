/**
 * Makes the note of a session: waits until the compaction is in its transcript, imports it, and recalls the content that
 * the agent's context misses. The ledger is open only for that, so that other processes can write.
 */
import { statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { sentenceOf } from '../../../ports/store-error.js'
import { plainContentId } from '../../../application/importers/content-id.js'
import { readTranscript, recognizeTranscript } from '../../../application/importers/index.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import type { Ledger } from '../../../library/ledger.js'
import { readInstallation } from '../install/installation.js'
import { rulesOf } from '../config/rules.js'
import { withLedger } from '../session.js'
import { canaryNote, isCanary } from './canary.js'
import { refreshGuard } from './refresh-guard.js'
import { WAIT_MS } from './run-hook.js'
import {
  beginPending,
  endPending,
  hasUnreadEnd,
  lastNoted,
  logProblem,
  readPending,
  releaseNote,
  removeExport,
  removeNote,
  takeEnd,
  writeNote,
  writeNoted,
  writePending,
  type PendingNote,
} from './hook-folder.js'

const POLL_MS = 100
/** The time before another attempt: it doubles up to the second value while the ledger cannot be opened. */
const REST_MS = 500
const LONGEST_REST_MS = 8_000
/** How long a worker waits for another compaction, if the last one has a note: a program may report one end twice. */
const NOTED_MS = 30_000
/** How long after a report no note waits for the agent, because the program may still write its transcript. */
const SETTLED_MS = 1_500
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
export type OpenLedger = <T>(
  needs: { readonly reads: boolean },
  work: (ledger: Ledger, rules: readonly string[]) => Promise<T>,
) => Promise<T>

export function openInstalled(folder: string, agent: string): OpenLedger {
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
  transcript: string,
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
  folder: string,
  pending: PendingNote,
  earliest: number,
  noted: string | undefined,
  open: OpenLedger,
): Promise<MadeNote | undefined> {
  const expectedId = `${pending.agent}/${pending.sessionId}`
  try {
    return await open({ reads: false }, async (ledger, rules) => {
      const conversationId = (await importTranscript(ledger, pending)) ?? expectedId
      // The user may have taken a rule back.
      await refreshGuard(ledger, [conversationId], folder).catch((error: unknown) => {
        logProblem(folder, pending.agent, error)
      })
      return await noteFor(ledger, conversationId, earliest, noted, rules)
    })
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

/** Surroundings of a worker. */
export interface WorkerWorld {
  readonly open: OpenLedger
  readonly now: () => number
  readonly wait: (milliseconds: number) => Promise<unknown>
}

/** A report of a compaction, and what the attempts have found since in the transcript that it names. */
class Report {
  made: MadeNote | undefined
  /** Since when the last compaction of the transcript is one that has a note. */
  private notedSince: number | undefined
  /** The size of the transcript at the last attempt. */
  private size: number | undefined

  /**
   * @param until when the worker gives up
   * @param endedAt when the report of the end was read; undefined if only the beginning was reported
   */
  constructor(
    readonly transcript: string,
    readonly until: number,
    readonly endedAt: number | undefined,
  ) {}

  /** A program may announce a compaction and then not need it. */
  get isMissed(): boolean {
    return this.endedAt !== undefined && this.notedSince === undefined
  }

  get isNoted(): boolean {
    return this.notedSince !== undefined
  }

  isOver(now: number): boolean {
    return now >= Math.min(this.until, (this.notedSince ?? this.until) + NOTED_MS)
  }

  /** Whether the program has probably written all of its transcript. */
  isSettled(now: number): boolean {
    return this.endedAt === undefined || now >= this.endedAt + SETTLED_MS
  }

  /** Whether the transcript has grown since the last call. */
  hasChanged(): boolean {
    const before = this.size
    this.size = sizeOf(this.transcript)
    return this.size !== before
  }

  get isThere(): boolean {
    return (this.size ?? -1) >= 0
  }

  /** The last compaction of the transcript is new, or has a note. */
  setFound(found: 'new' | 'noted', now: number): void {
    if (found === 'new') this.notedSince = undefined
    else if (this.made === undefined) this.notedSince ??= now
  }
}

/** The work of a worker until the note waits for its agent, or the time is over. */
class Attempts {
  private report: Report
  private problem: unknown
  private rest = REST_MS

  constructor(
    private readonly folder: string,
    private readonly key: string,
    private readonly pending: PendingNote,
    private readonly world: WorkerWorld,
  ) {
    this.report = new Report(pending.transcript, pending.until, undefined)
  }

  /** The transcript of the last report. */
  get transcript(): string {
    return this.report.transcript
  }

  async run(): Promise<void> {
    const { now, wait } = this.world
    for (;;) {
      this.readReport()
      // Read before the attempt, so that the last attempt follows all that happened in time.
      const isLast = this.report.isOver(now())
      if (await this.succeeds()) return
      // A program may report one end twice. It may also write a compaction after it has reported its end.
      if (this.report.isNoted && this.report.isSettled(now())) releaseNote(this.folder, this.key)
      if (isLast) break
      await wait(Math.min(this.rest, Math.max(POLL_MS, this.report.until - now())))
    }
    if (this.problem !== undefined) throw this.problem
    if (this.report.isMissed)
      throw new Error(`no compaction of session ${this.pending.sessionId} appeared in ${this.transcript}`)
  }

  /** After the end of another compaction, a note that was made or waits is a note of an earlier one. */
  private readReport(): void {
    const transcript = takeEnd(this.folder, this.key)
    if (transcript === undefined) return
    if (transcript !== this.transcript) removeExport(this.folder, this.transcript)
    const now = this.world.now()
    this.report = new Report(transcript, now + WAIT_MS, now)
    // An erasure removes the record of a note in the making.
    if (readPending(this.folder, this.key) !== undefined)
      writePending(this.folder, this.key, { ...this.pending, until: this.report.until, worker: process.pid })
  }

  private async succeeds(): Promise<boolean> {
    try {
      // After a problem, the same transcript is tried again.
      const hasChanged = this.report.hasChanged() || this.problem !== undefined
      if (hasChanged && this.report.isThere) await this.make()
      this.problem = undefined
      this.rest = REST_MS
      const { made } = this.report
      if (made === undefined || !this.report.isSettled(this.world.now())) return false
      writeNoted(this.folder, this.key, made.compactionId)
      if (made.text !== '' && readPending(this.folder, this.key) !== undefined)
        writeNote(this.folder, this.key, made.text)
      return true
    } catch (error) {
      if (!isTemporary(error)) throw error
      this.problem = error
      this.rest = Math.min(LONGEST_REST_MS, this.rest * 2)
      return false
    }
  }

  private async make(): Promise<void> {
    const { folder, key, report } = this
    const noted = report.made?.compactionId ?? lastNoted(folder, key)
    const earliest = earliestOf(this.pending, report.endedAt !== undefined)
    const found = await findCompaction(report.transcript, earliest, noted)
    if (found !== undefined) report.setFound(found, this.world.now())
    if (found !== 'new') return
    removeNote(folder, key)
    const pending = { ...this.pending, transcript: report.transcript }
    report.made = await attempt(folder, pending, earliest, noted, this.world.open)
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

/** Makes one note. A problem is logged; the agent then continues without a note. */
async function makeOne(folder: string, key: string, pending: PendingNote, world: WorkerWorld): Promise<void> {
  const { agent, sessionId } = pending
  const attempts = new Attempts(folder, key, pending, world)
  try {
    if (isCanary(sessionId)) {
      takeEnd(folder, key)
      writeNote(folder, key, await answerCanary(sessionId, world.open))
    } else await attempts.run()
  } catch (error) {
    logProblem(folder, agent, error)
  }
  removeExport(folder, attempts.transcript)
}

/** Makes the pending note of a session, and those of compactions that end meanwhile. */
export async function makeNote(folder: string, key: string, world: Partial<WorkerWorld> = {}): Promise<void> {
  const now = world.now ?? Date.now
  for (let pending = readPending(folder, key); pending !== undefined;) {
    const { agent } = pending
    const open: OpenLedger = async (needs, work) => await openInstalled(folder, agent)(needs, work)
    await makeOne(folder, key, pending, { open, now, wait: delay, ...world })
    endPending(folder, key)
    // A hook that reported an end before may have seen that this worker runs.
    const next = { ...pending, reportedAt: now(), until: now() + WAIT_MS, worker: process.pid }
    pending = hasUnreadEnd(folder, key) && beginPending(folder, key, next) ? next : undefined
  }
}
