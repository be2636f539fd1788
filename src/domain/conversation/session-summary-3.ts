/**
 * The session-summary view of renderer versions 1 to 3. Do not change it: the hashes of contexts that agents received
 * are recorded. Later versions use `session-summary.ts`.
 */
import { summaryOf } from './batch.js'
import type { ViewPart } from './clip-archive.js'
import type { Sections } from '../events/index.js'
import { ORIGINAL_TASK, type SessionEvents } from './session-summary.js'
import type { Estimator } from '../values/tokens.js'

const line = (text: string): ViewPart => ({ kind: 'line', text })

/** The newest entries that fit, in order, and a line with the number of omitted older ones. */
function bounded(entries: readonly string[], maxTokens: number, estimator: Estimator): string[] {
  let left = maxTokens
  let from = entries.length
  while (from > 0) {
    const entry = entries[from - 1] ?? ''
    const cost = estimator.text(entry) + 1
    if (cost > left) break
    left -= cost
    from -= 1
  }
  const shownEntries = entries.slice(from)
  return from === 0
    ? shownEntries
    : [`- [... ${String(from)} earlier entries omitted, searchable via memory_read ...]`, ...shownEntries]
}

const unique = (entries: readonly string[]): string[] =>
  [...new Map(entries.map((entry) => [entry.trim().toLowerCase(), entry.trim()])).values()].filter(
    (entry) => entry !== '',
  )

/** Cells of a table cannot hold a bar or a line break. */
const cell = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')

const workRow = (item: Sections['completedWork'][number]): string =>
  `| ${cell(item.file)} | ${cell(item.action)} | ${cell(item.description)} |`

/** The parts of the view; `maxTokens` bounds all sections but the original task, which is shown word for word. */
export function sessionSummaryParts3(events: SessionEvents, maxTokens: number, estimator: Estimator): ViewPart[] {
  const sections = events.batches.flatMap((batch) => (batch.sections === undefined ? [] : [batch.sections]))
  const prose = events.batches.filter((batch) => batch.sections === undefined)
  // Only the newest row for each file and action is shown.
  const work = new Map<string, string>()
  for (const item of sections.flatMap((section) => section.completedWork)) {
    const key = `${item.file}\u0000${item.action}`
    work.delete(key)
    work.set(key, workRow(item))
  }
  const share = Math.floor(maxTokens / 5)
  const list = (title: string, entries: readonly string[], mark = '- ', budget = share): ViewPart[] => {
    const shownEntries = bounded(
      unique(entries).map((entry) => `${mark}${entry}`),
      budget,
      estimator,
    )
    return shownEntries.length === 0 ? [] : [line(`### ${title}\n${shownEntries.join('\n')}`)]
  }
  const rows = bounded([...work.values()], share, estimator)
  const last = sections.at(-1)
  return [
    line(`## Session Summary (Compaction Round ${String(events.cycles)})`),
    ...(events.originalTask === undefined
      ? []
      : [line('### Original Task'), { kind: 'batch', batchId: ORIGINAL_TASK, text: events.originalTask } as const]),
    ...(rows.length === 0
      ? []
      : [line(`### Completed Work\n| File | Action | Description |\n| --- | --- | --- |\n${rows.join('\n')}`)]),
    ...prose
      .flatMap((batch): ViewPart[] => [
        line(`### ${batch.startTime} to ${batch.endTime}`),
        { kind: 'batch', batchId: batch.batchId, text: summaryOf(batch) },
      ])
      .slice(-10),
    ...list(
      'Key Technical Decisions',
      sections.flatMap((section) => section.decisions),
    ),
    ...list('Current State', last?.currentState ?? []),
    ...list('Pending Work', last?.openItems ?? [], '- [ ] '),
    ...list(
      'Errors and Resolutions',
      sections.flatMap((section) => section.errors),
    ),
  ]
}
