/**
 * The cost of redaction, of an erasable ledger and of proofs: appends, the first contexts after opening, and `verify`.
 * The same work on each ledger is measured in alternating rounds, in one process.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger, type Ledger, type LedgerOptions } from '../src/index.js'
import { createBulkLog, givenAt } from './support/bulk-log.js'
import { atMost, milliseconds, type Bench, type Figure, type Group, type Place } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { openDatabase } from './support/places.js'
import { randomOf } from './support/text.js'

const BLOCK = 100
const HUNDREDS = 5
const LOADED = 40
const LOADED_MESSAGES = 100
const ROUNDS = 8
const VERIFIED = 200
const VERIFIED_MESSAGES = 100
const VERIFIED_WINDOW = 4_000
const MOST_REDACTION = 1.15
const MOST_ERASABLE = 1.4
const MOST_PROOFS = 1.2

type Kind = 'off' | 'redacted' | 'erasable'

const random = randomOf(7)
const loadedId = (at: number): string => `loaded-${String(at)}`

/** A ledger that is opened again for every measurement of contexts. */
class MeasuredLedger {
  private recorded = 0
  private ledger: Ledger | undefined

  constructor(private readonly options: LedgerOptions) {}

  private readonly next = () => givenAt((this.recorded += 1), random)

  private async opened(): Promise<Ledger> {
    this.ledger ??= await openLedger({ ahead: false, ...this.options })
    return this.ledger
  }

  async close(): Promise<void> {
    await this.ledger?.close()
    this.ledger = undefined
  }

  async fill(): Promise<void> {
    const ledger = await this.opened()
    for (let at = 0; at < LOADED; at += 1)
      await ledger.append(loadedId(at), Array.from({ length: LOADED_MESSAGES }, this.next))
    await ledger.admin.waitForCompaction()
  }

  async one(): Promise<number[]> {
    const ledger = await this.opened()
    const times: number[] = []
    for (let at = 0; at < BLOCK; at += 1) {
      const message = this.next()
      times.push(await timed(async () => await ledger.append('one', message)))
    }
    await ledger.admin.waitForCompaction()
    return times
  }

  async hundred(round: number): Promise<number[]> {
    const ledger = await this.opened()
    const times: number[] = []
    for (let call = 0; call < HUNDREDS; call += 1) {
      const messages = Array.from({ length: 100 }, this.next)
      const id = `hundred-${String(round)}-${String(call)}`
      times.push(await timed(async () => await ledger.append(id, messages)))
    }
    await ledger.admin.waitForCompaction()
    return times
  }

  /** The first context of each conversation after the ledger was opened. */
  async firstContexts(): Promise<number[]> {
    await this.close()
    const ledger = await this.opened()
    const times: number[] = []
    for (let at = 0; at < LOADED; at += 1) times.push(await timed(async () => await ledger.context(loadedId(at))))
    return times
  }
}

type Rounds = Readonly<Record<string, readonly number[]>>

/** Compares a kind of ledger with its baseline. */
function compared(rounds: Rounds, kind: Kind, baseline: { readonly kind: Kind; readonly name: string }, most: number) {
  const named = kind === 'redacted' ? 'redaction' : 'erasable'
  const of = (work: string, each: Kind): number => median(rounds[`${work}, ${each}`] ?? [])
  const figure = (name: string, work: string, note?: string): Figure =>
    atMost(
      `${named}: ${name}, p50`,
      of(work, kind),
      { name: baseline.name, value: of(work, baseline.kind) },
      most,
      milliseconds,
      note,
    )
  return [
    figure('`ledger.append`, one message', 'one'),
    figure('`ledger.append`, 100 messages to a new conversation', 'hundred'),
    figure(
      '`ledger.context`',
      'contexts',
      `the first of each of ${String(LOADED)} conversations of ${String(LOADED_MESSAGES)} messages after the ledger was opened`,
    ),
  ]
}

async function ledgers(bench: Bench, keys: string, places: Place[]): Promise<Figure[]> {
  const make = async (kind: Kind): Promise<MeasuredLedger> => {
    const folder = await bench.createPlace(`trust-${kind}`)
    places.push(folder)
    return new MeasuredLedger({
      store: folder.store,
      policy: { redaction: kind === 'off' ? 'off' : 'on' },
      ...(kind === 'erasable' ? { erasable: true, keys } : {}),
    })
  }
  const all = { off: await make('off'), redacted: await make('redacted'), erasable: await make('erasable') }
  const kinds = ['off', 'redacted', 'erasable'] as const
  try {
    for (const kind of kinds) await all[kind].fill()
    const works = (
      name: string,
      work: (ledger: MeasuredLedger, round: number) => Promise<number[]>,
    ): Record<string, (round: number) => Promise<number[]>> =>
      Object.fromEntries(
        kinds.map((kind) => [`${name}, ${kind}`, async (round: number) => await work(all[kind], round)]),
      )
    bench.say('appends and contexts')
    const rounds = await inTurns(ROUNDS, {
      ...works('one', async (ledger) => await ledger.one()),
      ...works('hundred', async (ledger, round) => await ledger.hundred(round)),
      ...works('contexts', async (ledger) => await ledger.firstContexts()),
    })
    return [
      ...compared(rounds, 'redacted', { kind: 'off', name: 'redaction off' }, MOST_REDACTION),
      ...compared(rounds, 'erasable', { kind: 'redacted', name: 'not erasable' }, MOST_ERASABLE),
    ]
  } finally {
    for (const kind of kinds) await all[kind].close()
  }
}

async function proofs(bench: Bench, places: Place[]): Promise<Figure> {
  const folder = await bench.createPlace('trust-proofs')
  places.push(folder)
  bench.say(`writing ${String(VERIFIED)} conversations`)
  const db = await openDatabase(folder.store)
  const bulk = await createBulkLog(db)
  for (let at = 0; at < VERIFIED; at += 1)
    await bulk.write(`verified-${String(at)}`, VERIFIED_MESSAGES, { modelMaxTokens: VERIFIED_WINDOW }, { seed: at })
  const { events } = await bulk.finish()
  await db.close()
  const ledger = await openLedger({ store: folder.store })
  try {
    await ledger.admin.projections.catchUp()
    const { note } = await ledger.admin.proofs.createCheckpoint({ key: generateKeyPairSync('ed25519').privateKey })
    const verified = async (options?: { checkpoint: { note: string } }): Promise<number[]> => [
      await timed(async () => {
        const { ok, problems } = await ledger.admin.verify(undefined, options)
        if (!ok) throw new Error(`there are problems: ${JSON.stringify(problems.slice(0, 3))}`)
      }),
    ]
    bench.say('verifying')
    const rounds = await inTurns(ROUNDS, {
      without: async () => await verified(),
      with: async () => await verified({ checkpoint: { note } }),
    })
    return atMost(
      '`verify` with the proof of a checkpoint, p50',
      median(rounds.with),
      { name: 'without', value: median(rounds.without) },
      MOST_PROOFS,
      milliseconds,
      `${events.toLocaleString('en')} events in ${String(VERIFIED)} conversations; the checkpoint covers all`,
    )
  } finally {
    await ledger.close()
  }
}

export const group: Group = {
  title: 'Redaction, erasable ledgers and proofs',
  async run(bench: Bench) {
    const keys = await mkdtemp(join(tmpdir(), 'bench-trust-keys-'))
    const places: Place[] = []
    try {
      return [...(await ledgers(bench, keys, places)), await proofs(bench, places)]
    } finally {
      for (const folder of places) await folder.remove()
      await rm(keys, { recursive: true, force: true })
    }
  },
}
