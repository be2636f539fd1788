/** `replay --dry-run`: simulates policies and prints a table and a plot for each, without model calls. */
import { LedgerError } from '../../../lib/ledger-error.js'
import { basename } from 'node:path'
import { plot } from 'simple-ascii-chart'
import { totalOf } from '../../../application/editions/what-if.js'
import type { TriedPolicy, WhatIf, WhatIfRow } from '../../../library/ledger.js'
import { titlesOf, type Titles } from '../../../library/titles.js'
import { CommandExit, EXIT } from '../errors.js'
import type { CommandArgs } from '../command-args.js'
import { colours, count, line, many, noteColours, note, printable, showTable } from '../output.js'
import { toWire } from '../../../domain/values/revision.js'
import { startProgress } from '../progress.js'
import { requestedConversations, requestedIds } from '../requested-conversations.js'
import { withLedger } from '../session.js'
import { idWithTitle } from '../titles.js'

const CHART_WIDTH = 72
const CHART_HEIGHT = 8

/** A short name for each file, or its path if two names would be equal. */
function namesOf(files: readonly string[]): string[] {
  const short = files.map((file) => basename(file).replace(/\.json$/u, ''))
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (files[at] ?? name)))
}

/** Divides a list into equal parts and returns the maximum of each, so that peaks stay visible. */
function inParts(values: readonly number[], parts: number): number[] {
  const used = Math.min(parts, values.length)
  return Array.from({ length: used }, (_none, part) => {
    const from = Math.floor((part * values.length) / used)
    return values
      .slice(from, Math.max(from + 1, Math.floor(((part + 1) * values.length) / used)))
      .reduce((max, value) => Math.max(max, value), 0)
  })
}

/** The context size from the first request to the last, of one conversation or averaged over all. */
function meanCourse({ courses }: WhatIfRow): number[] {
  const each = courses.map(({ contexts }) => inParts(contexts, CHART_WIDTH)).filter((parts) => parts.length > 0)
  const width = Math.max(0, ...each.map((parts) => parts.length))
  return Array.from(
    { length: width },
    (_none, at) =>
      each.reduce((sum, parts) => sum + (parts[Math.floor((at * parts.length) / width)] ?? 0), 0) / each.length,
  )
}

function chart(row: WhatIfRow, max: number, requests: number, isMean: boolean): string[] {
  const points = meanCourse(row)
  if (points.length < 2) return [`${row.name}: too few requests for a plot`]
  // Stretch to the full width, so that the charts align.
  const wide = Array.from({ length: CHART_WIDTH }, (_none, at): [number, number] => [
    at + 1,
    points[Math.floor((at * points.length) / CHART_WIDTH)] ?? 0,
  ])
  const drawn = plot(wide, {
    width: CHART_WIDTH,
    height: CHART_HEIGHT,
    yRange: [0, max],
    customYAxisTicks: [0, max / 2, max],
    hideXAxisTicks: true,
    formatter: (value, { axis }) => (axis === 'y' ? count(Math.round(value)) : value),
  })
  const about = isMean
    ? 'mean over the conversations, from the first request to the last'
    : `tokens at each of ${many(requests, 'request')}`
  return [
    `${colours.bold(row.name)} ${colours.dim(about)}`,
    ...drawn
      .split('\n')
      .map((text) => text.trimEnd())
      .filter((text) => text !== ''),
  ]
}

/** Rounds up to two significant digits, for the scale. */
function roundedUp(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1)
  return Math.ceil(value / unit) * unit
}

function rowCells(row: WhatIfRow): string[] {
  const { cycles, calls, requests, tokensSent, largestContext, aboveWindow } = totalOf(row)
  return [
    row.name,
    count(cycles),
    count(calls),
    count(requests),
    count(tokensSent),
    count(largestContext),
    aboveWindow === 0 ? '' : `${many(aboveWindow, 'request')} above the window`,
  ]
}

async function print({ rows, conversationIds }: WhatIf, titles: Titles): Promise<void> {
  await showTable(
    ['', 'cycles', 'summaries', 'requests', 'tokens sent', 'largest context', ''],
    rows.map(rowCells),
    new Set([1, 2, 3, 4, 5]),
  )
  await line()
  // The row without compaction is not plotted: on its scale the other charts would be flat.
  const compared = rows.filter(({ kind }) => kind !== 'none')
  const max = roundedUp(Math.max(1, ...compared.flatMap(meanCourse)))
  for (const row of compared) {
    for (const text of chart(row, max, totalOf(row).requests, conversationIds.length > 1)) await line(text)
    await line()
  }
  for (const row of rows) {
    const stopped = row.courses.flatMap((course, at) =>
      course.stopped === undefined
        ? []
        : [
            `${row.name} stopped in ${idWithTitle(conversationIds[at] ?? '', titles, noteColours)}: ${course.stopped.kind}`,
          ],
    )
    for (const text of stopped) note(`${noteColours.yellow('warning:')} ${text}`)
  }
}

/** Flags of `replay` that have no effect with `--dry-run`. */
const UNUSED_FLAGS = [
  'summarizer',
  'strategy',
  'model',
  'base-url',
  'api-key',
  'window-tokens',
  'timeout',
  'prompt',
  'prompt-name',
  'persona',
  'concurrency',
  'max-tokens',
  'max-cost',
  'yes',
]

/**
 * Runs `replay --dry-run`: simulates the policies of `--policy`, or the policy from the flags, on the named
 * conversations or on all.
 */
export async function runWhatIf(args: CommandArgs, summaries: 'recorded' | 'extractive'): Promise<void> {
  const files = args.several('policy')
  const named = args.words('conversations')
  const all = args.is('all')
  const unused = UNUSED_FLAGS.find((flag) => args.flags[flag] !== undefined && args.flags[flag] !== false)
  if (unused !== undefined)
    throw new LedgerError('Usage', `--${unused} has no effect with --dry-run, which calls no model and records nothing`)
  const requested = requestedConversations({ conversations: named, all }, 'every conversation')
  const names = files.length === 0 ? ['from flags'] : namesOf(files)
  const { policiesOf } = await import('../config/policy-settings.js')
  const settings = await policiesOf({ flags: args.flags, env: process.env, cwd: process.cwd() }, files)
  if (settings.length === 0)
    throw new LedgerError(
      'Usage',
      '--dry-run needs policy settings to simulate: pass --policy FILE, or flags such as --keep-recent',
    )
  const policies = settings.map((each, at): TriedPolicy => ({ name: names[at] ?? '', settings: each }))
  await withLedger(args.flags, { reads: true }, async ({ ledger }) => {
    const progress = await startProgress('simulating', named.length)
    const tried = await ledger.editions
      .whatIf(await requestedIds(ledger, requested), {
        policies,
        summaries,
        onConversation: (done, of) => {
          progress.update(done, `${count(done)} of ${many(of, 'conversation')}`)
        },
      })
      .finally(() => {
        progress.stop()
      })
    if (args.json) await line(toWire({ ...tried, rows: tried.rows.map((row) => ({ ...row, total: totalOf(row) })) }))
    else {
      const titles = await titlesOf(ledger, [
        ...tried.conversationIds,
        ...tried.untried.map((each) => each.conversationId),
      ])
      await print(tried, titles)
      for (const { conversationId, reason } of tried.untried)
        note(
          `${noteColours.yellow('not simulated:')} ${idWithTitle(conversationId, titles, noteColours)}: ${printable(reason)}`,
        )
    }
    if (tried.untried.length > 0) throw new CommandExit(EXIT.untrusted)
  })
}
