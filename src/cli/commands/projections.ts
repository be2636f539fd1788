/**
 * `projections status`, `rebuild` and `vectors`: how far the read models are, the read models made anew beside those
 * that are read, and the vectors that are missing.
 */
import type { ProjectionStatus } from '../../../projections/engine/watch.js'
import { didYouMean, nameMeant } from '../../domain/text/known-names.js'
import { InputError } from '../errors.js'
import type { Flags } from '../flags.js'
import { table } from '../layout.js'
import { colours, count, line, many, printable, toJson } from '../output.js'
import { startProgress } from '../progress.js'
import { withLedger } from '../session.js'

/** Runs `projections status`. */
export async function runStatus(flags: Flags, json: boolean): Promise<void> {
  await withLedger(flags, { reads: true }, async ({ ledger }) => {
    const projections = await ledger.projections.status()
    if (json) {
      await line(toJson({ projections }))
      return
    }
    const rows = projections.map((status) => [
      status.name,
      status.state === 'following' ? 'working' : status.state,
      status.position.toString(),
      lagOf(status),
      `${status.lagSeconds.toFixed(1)} s`,
      status.partitions.length === 0 ? '' : count(status.partitions.length),
      `${String(status.version)}, generation ${String(status.generation)}`,
      status.rows === undefined ? '' : count(status.rows),
      status.updatedAt,
    ])
    for (const row of table(
      ['projection', 'state', 'position', 'events behind', 'for', 'partitions', 'version', 'rows, about', 'updated'],
      rows,
      new Set([2, 3, 4, 5, 7]),
    ))
      await line(row)
    const holder = projections.find((status) => status.holder !== undefined)?.holder
    if (holder !== undefined) await line(`kept by ${holder}`)
    await tellStopped(projections)
    for (const { name, stop, partitions } of projections) {
      const stops = partitions.flatMap((partition) =>
        partition.stop === undefined
          ? []
          : [
              {
                where: partitions.length === 1 ? name : `${name}, partition ${String(partition.partition)},`,
                stop: partition.stop,
              },
            ],
      )
      for (const { where, stop: why } of stops.length > 0 || stop === undefined ? stops : [{ where: name, stop }])
        await line(colours.red(`${where} stopped: ${why.reason}${why.advice === undefined ? '' : `; ${why.advice}`}`))
    }
  })
}

/** Names the conversations whose rows do not go on, each with the read models that stopped at it. */
async function tellStopped(projections: readonly ProjectionStatus[]): Promise<void> {
  const byReason = new Map<string, { readonly conversationId: string; readonly names: string[] }>()
  for (const { name, stopped } of projections) {
    for (const { conversationId, reason } of stopped) {
      const told = byReason.get(reason) ?? { conversationId, names: [] }
      told.names.push(name)
      byReason.set(reason, told)
    }
  }
  for (const [reason, { conversationId, names }] of byReason)
    await line(
      colours.red(`conversation ${printable(conversationId)} is stopped in ${names.join(', ')}: ${printable(reason)}`),
    )
  if (byReason.size > 0) await line('all other conversations are served; `projections rebuild` tries these again')
}

const lagOf = ({ lagEvents, lagIsAtLeast }: ProjectionStatus): string =>
  `${lagIsAtLeast ? '≥ ' : ''}${count(lagEvents)}`

const phases = { rows: 'rows', indexes: 'building indexes', swap: 'swapping', done: 'done' } as const

/** Runs `projections rebuild`. */
export async function runRebuild(flags: Flags, names: readonly string[], json: boolean): Promise<void> {
  await withLedger(flags, {}, async ({ ledger }) => {
    const status = await ledger.projections.status()
    const known = status.map(({ name }) => name)
    const unknown = names.find((name) => !known.includes(name))
    if (unknown !== undefined)
      throw new InputError(
        'Usage',
        `there is no projection "${unknown}"${didYouMean(nameMeant(unknown, known))}; there are ${known.join(', ')}`,
      )
    const startedAt = performance.now()
    let events = 0
    const progress = await startProgress('rebuilding', Number(status[0]?.head ?? -1n) + 1)
    try {
      await ledger.projections.rebuild(names.length === 0 ? 'all' : names, {
        onProgress: ({ phase, done, secondsLeft, ...more }) => {
          events = more.events
          progress.update(done, `${phases[phase]}, ${count(events)} events`, secondsLeft)
        },
      })
    } finally {
      progress.stop()
    }
    const seconds = (performance.now() - startedAt) / 1000
    const rebuilt = names.length === 0 ? known : names
    if (json)
      await line(
        toJson({
          rebuilt,
          events,
          seconds: Number(seconds.toFixed(3)),
          stopped: (await ledger.projections.status()).flatMap(({ name, stopped }) =>
            stopped.map((stop) => ({ projection: name, ...stop })),
          ),
        }),
      )
    else await line(`rebuilt ${rebuilt.join(', ')} from ${count(events)} events in ${seconds.toFixed(1)} s`)
    if (!json) await tellStopped(await ledger.projections.status())
  })
}

/** Runs `projections vectors`. Ctrl-C ends it between two requests; the next one goes on from there. */
export async function runVectors(flags: Flags, json: boolean): Promise<void> {
  await withLedger(flags, { searches: true, ahead: false }, async ({ ledger, config }) => {
    if (config.embeddingModel === undefined)
      throw new InputError(
        'Usage',
        'no embedding model is configured: --embedding-model or CONTEXT_LEDGER_EMBEDDING_MODEL names one',
      )
    const progress = await startProgress('embedding', Number((await ledger.projections.status())[0]?.head ?? -1n) + 1)
    const stop = new AbortController()
    const onSignal = (): void => {
      stop.abort()
    }
    process.once('SIGINT', onSignal)
    process.once('SIGTERM', onSignal)
    try {
      const filled = await ledger.projections.fillVectors({
        signal: stop.signal,
        onProgress: ({ embedded, position }) => {
          progress.update(Number(position) + 1, `${many(embedded, 'text')} embedded`)
        },
      })
      progress.stop()
      if (json) await line(toJson(filled))
      else
        await line(
          `embedded ${many(filled.embedded, 'text')}${filled.missing === 0 ? '; every message has its vector' : `; ${filled.isAtLeast ? 'at least ' : ''}${many(filled.missing, 'message')} to go`}`,
        )
    } finally {
      progress.stop()
      process.removeListener('SIGINT', onSignal)
      process.removeListener('SIGTERM', onSignal)
    }
  })
}
