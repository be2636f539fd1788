/**
 * `replay --dry-run`: what other policies would have come to, as a table and as a plot for each, before anything is
 * paid for.
 */
import { basename } from 'node:path'
import { plot } from 'simple-ascii-chart'
import { totalOf } from '../../editions/what-if.js'
import type { TriedPolicy, WhatIf, WhatIfRow } from '../../library/ledger.js'
import { Ended, EXIT, InputError } from '../errors.js'
import type { Given } from '../given.js'
import { colours, count, line, many, noteColours, note, printable, showTable, toJson } from '../output.js'
import { startProgress } from '../progress.js'
import { withLedger } from '../session.js'

const CHART_WIDTH = 72
const CHART_HEIGHT = 8

/** A short name for each file, the path where two would have the same. */
function namesOf(files: readonly string[]): string[] {
  const short = files.map((file) => basename(file).replace(/\.json$/u, ''))
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (files[at] ?? name)))
}

/** The greatest value of each of so many equal parts of a list, so that no peak is lost. */
function inParts(values: readonly number[], parts: number): number[] {
  const used = Math.min(parts, values.length)
  return Array.from({ length: used }, (_none, part) => {
    const from = Math.floor((part * values.length) / used)
    return values
      .slice(from, Math.max(from + 1, Math.floor(((part + 1) * values.length) / used)))
      .reduce((most, value) => Math.max(most, value), 0)
  })
}

/**
 * The course of a context from the first request to the last: of one conversation, or the mean of all at the same part
 * of their way.
 */
function meanCourse({ courses }: WhatIfRow): number[] {
  const each = courses.map(({ contexts }) => inParts(contexts, CHART_WIDTH)).filter((parts) => parts.length > 0)
  const width = Math.max(0, ...each.map((parts) => parts.length))
  return Array.from(
    { length: width },
    (_none, at) =>
      each.reduce((sum, parts) => sum + (parts[Math.floor((at * parts.length) / width)] ?? 0), 0) / each.length,
  )
}

function chart(row: WhatIfRow, most: number, requests: number, isMean: boolean): string[] {
  const points = meanCourse(row)
  if (points.length < 2) return [`${row.name}: too few requests for a plot`]
  // Stretched to the whole width, so that the charts stand over each other.
  const wide = Array.from({ length: CHART_WIDTH }, (_none, at): [number, number] => [
    at + 1,
    points[Math.floor((at * points.length) / CHART_WIDTH)] ?? 0,
  ])
  const drawn = plot(wide, {
    width: CHART_WIDTH,
    height: CHART_HEIGHT,
    yRange: [0, most],
    customYAxisTicks: [0, most / 2, most],
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

/** The next number with two digits and zeros, for the scale. */
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

async function print({ rows, conversationIds }: WhatIf): Promise<void> {
  await showTable(
    ['', 'cycles', 'summaries', 'requests', 'tokens sent', 'largest context', ''],
    rows.map(rowCells),
    new Set([1, 2, 3, 4, 5]),
  )
  await line()
  // Without compaction the context only grows; on its scale the others would be flat lines.
  const compared = rows.filter(({ kind }) => kind !== 'none')
  const most = roundedUp(Math.max(1, ...compared.flatMap(meanCourse)))
  for (const row of compared) {
    for (const text of chart(row, most, totalOf(row).requests, conversationIds.length > 1)) await line(text)
    await line()
  }
  for (const row of rows) {
    const stopped = row.courses.flatMap((course, at) =>
      course.stopped === undefined
        ? []
        : [`${row.name} stopped in ${conversationIds[at] ?? ''}: ${course.stopped.kind}`],
    )
    for (const text of stopped) note(`${noteColours.yellow('warning:')} ${text}`)
  }
}

/** What `replay` goes by where it makes an edition, and what is nothing to one that only tries. */
const IDLE = [
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
 * Runs `replay --dry-run`: the policies of `--policy FILE…`, or the one that the flags make, tried on the named
 * conversations or on all.
 */
export async function runWhatIf(given: Given, summaries: 'recorded' | 'extractive'): Promise<void> {
  const files = given.several('policy')
  const named = given.words('conversations')
  const all = given.is('all')
  const idle = IDLE.find((flag) => given.flags[flag] !== undefined && given.flags[flag] !== false)
  if (idle !== undefined)
    throw new InputError(
      'Usage',
      `--${idle} has no effect with --dry-run, which tries policies, asks no model and spends nothing`,
    )
  if (named.length === 0 && !all) throw new InputError('Usage', 'name a conversation, or --all')
  if (named.length > 0 && all) throw new InputError('Usage', 'name conversations or --all, not both')
  const names = files.length === 0 ? ['as given'] : namesOf(files)
  const { policiesOf } = await import('../config/policy-settings.js')
  const settings = await policiesOf({ flags: given.flags, env: process.env, cwd: process.cwd() }, files)
  if (settings.length === 0)
    throw new InputError(
      'Usage',
      '--dry-run needs settings to try, over those that are recorded: --policy FILE, or flags such as --keep-recent',
    )
  const policies = settings.map((each, at): TriedPolicy => ({ name: names[at] ?? '', settings: each }))
  await withLedger(given.flags, { reads: true }, async ({ ledger }) => {
    const progress = await startProgress('trying', named.length)
    const tried = await ledger
      .whatIf(all ? 'all' : named, {
        policies,
        summaries,
        onConversation: (done, of) => {
          progress.update(done, `${count(done)} of ${many(of, 'conversation')}`)
        },
      })
      .finally(() => {
        progress.stop()
      })
    if (given.json) await line(toJson({ ...tried, rows: tried.rows.map((row) => ({ ...row, total: totalOf(row) })) }))
    else await print(tried)
    if (!given.json)
      for (const { conversationId, reason } of tried.untried)
        note(`${noteColours.yellow('not tried:')} ${printable(conversationId)}: ${printable(reason)}`)
    if (tried.untried.length > 0) throw new Ended(EXIT.untrusted)
  })
}
