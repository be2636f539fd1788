/**
 * Makes the note of a session: imports its transcript until the compaction is in it, and then recalls the content that
 * the agent's context misses. The ledger is closed while the transcript does not change, so that other processes can write.
 */
import { rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isLedgerError } from '../../lib/ledger-error.js'
import type { Ledger } from '../../library/ledger.js'
import { readInstallation } from '../install/installation.js'
import { rulesOf } from '../config/rules.js'
import { withLedger } from '../session.js'
import { endPending, lastNoted, logProblem, readPending, writeNoted, type PendingNote } from './hook-folder.js'

const POLL_MS = 100
/** The least time between two openings of the ledger. */
const REST_MS = 500
/** Events after the compaction, among which it is searched. */
const MOST_EVENTS = 2_000

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

/** The note for the last compaction. Undefined if it is older than the pending one, or has a note. */
async function noteFor(
  ledger: Ledger,
  conversationId: string,
  { since }: PendingNote,
  noted: number,
  rules: readonly string[],
): Promise<{ readonly text: string; readonly revision: number } | undefined> {
  try {
    for await (const event of ledger.log(conversationId, { direction: 'backwards', limit: MOST_EVENTS })) {
      if (event.type !== 'CompactionObserved') continue
      const { revision } = event
      if (revision <= noted || Date.parse(event.data.at ?? event.metadata.recordedAt) < since) return undefined
      return { text: (await ledger.recall(conversationId, { rules })).text, revision }
    }
  } catch (error) {
    if (!isLedgerError(error, 'NoSuchConversation')) throw error
  }
  return undefined
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1

/** Waits until the transcript changes. */
async function changed(transcript: string, size: number, until: number): Promise<void> {
  while (sizeOf(transcript) === size && Date.now() < until) await delay(POLL_MS)
}

/** One attempt: the note, if the compaction is in the transcript; and whether the transcript must change before another. */
async function attempt(
  folder: string,
  key: string,
  pending: PendingNote,
  open: OpenLedger,
): Promise<{ readonly note?: string; readonly isImported: boolean }> {
  const find = async (
    ledger: Ledger,
    rules: readonly string[],
    conversationId: string,
  ): Promise<{ readonly note?: string }> => {
    const found = await noteFor(ledger, conversationId, pending, lastNoted(folder, key), rules)
    if (found === undefined) return {}
    writeNoted(folder, key, found.revision)
    return { note: found.text }
  }
  const expectedId = `${pending.agent}/${pending.sessionId}`
  try {
    return await open({ reads: false }, async (ledger, rules) => ({
      ...(await find(ledger, rules, (await importTranscript(ledger, pending)) ?? expectedId)),
      isImported: true,
    }))
  } catch (error) {
    if (!isLedgerError(error, 'FolderLocked')) throw error
    // The other process may be the one that follows this transcript.
    return {
      ...(await open({ reads: true }, async (ledger, rules) => await find(ledger, rules, expectedId))),
      isImported: false,
    }
  }
}

/** The note of a session, as soon as its compaction is in the transcript. */
async function waitForNote(folder: string, key: string, pending: PendingNote, open: OpenLedger): Promise<string> {
  const { sessionId, transcript, until } = pending
  while (Date.now() < until) {
    const size = sizeOf(transcript)
    const { note, isImported } = size < 0 ? { isImported: true } : await attempt(folder, key, pending, open)
    if (note !== undefined) return note
    await delay(REST_MS)
    if (isImported) await changed(transcript, size, until)
  }
  throw new Error(`no compaction of session ${sessionId} appeared in ${transcript}`)
}

/** Makes the pending note of a session. A problem is logged; the agent then continues without a note. */
export async function makeNote(folder: string, key: string, open?: OpenLedger): Promise<void> {
  const pending = readPending(folder, key)
  if (pending === undefined) return
  let note: string | undefined
  try {
    note = await waitForNote(folder, key, pending, open ?? openInstalled(folder, pending.agent))
  } catch (error) {
    logProblem(folder, pending.agent, error)
  }
  endPending(folder, key, note === '' ? undefined : note)
  const isExport = !relative(exportsFolder(folder), pending.transcript).startsWith('..')
  if (isExport) rmSync(pending.transcript, { force: true })
}
