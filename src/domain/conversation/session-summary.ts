/**
 * The session-summary view: one message that every round integrates anew from all active batches, oldest first: the
 * original task word for word, what was done, decided and is pending, and errors with their resolutions. File names
 * come from the facts' sections, which code collects. Pure text, bounded: where it grows too long the oldest entries of
 * a section give way, and their number is said.
 */
import { summaryOf, type Batch } from './batch.js'
import type { ViewPart } from './clip-archive.js'
import type { Sections } from '../events/index.js'
import { type Estimator } from '../values/tokens.js'

export interface SessionEvents {
  readonly batches: readonly Batch[]
  readonly originalTask: string | undefined
  readonly cycles: number
}

const line = (text: string): ViewPart => ({ kind: 'line', text })

/** The newest entries that fit, in order, and a line that says how many older ones do not. */
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
  const shown = entries.slice(from)
  return from === 0
    ? shown
    : [`- [... ${String(from)} earlier entries omitted, searchable via memory_read ...]`, ...shown]
}

const unique = (entries: readonly string[]): string[] =>
  [...new Map(entries.map((entry) => [entry.trim().toLowerCase(), entry.trim()])).values()].filter(
    (entry) => entry !== '',
  )

/** Cells of a table cannot hold a bar or a line break. */
const cell = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')

const workRow = (done: Sections['completedWork'][number]): string =>
  `| ${cell(done.file)} | ${cell(done.action)} | ${cell(done.description)} |`

/** The entries of a batch's sections, each as this view shows it. */
export const sectionLines = (sections: Sections): string[] => [
  ...sections.completedWork.map(workRow),
  ...[...sections.decisions, ...sections.currentState, ...sections.errors].map((entry) => `- ${entry.trim()}`),
  ...sections.pendingWork.map((entry) => `- [ ] ${entry.trim()}`),
]

/** The parts of the view; `maxTokens` bounds all sections but the original task, which is shown word for word. */
export function sessionSummaryParts(events: SessionEvents, maxTokens: number, estimator: Estimator): ViewPart[] {
  const sections = events.batches.flatMap((batch) => (batch.sections === undefined ? [] : [batch.sections]))
  const told = events.batches.filter((batch) => batch.sections === undefined)
  // Only the newest word on a file's state stands; what happened to it before is in the batches.
  const work = new Map<string, string>()
  for (const done of sections.flatMap((section) => section.completedWork)) {
    const key = `${done.file}\u0000${done.action}`
    work.delete(key)
    work.set(key, workRow(done))
  }
  const share = Math.floor(maxTokens / 5)
  const list = (title: string, entries: readonly string[], mark = '- ', budget = share): ViewPart[] => {
    const shown = bounded(
      unique(entries).map((entry) => `${mark}${entry}`),
      budget,
      estimator,
    )
    return shown.length === 0 ? [] : [line(`### ${title}\n${shown.join('\n')}`)]
  }
  const rows = bounded([...work.values()], share, estimator)
  const last = sections.at(-1)
  return [
    line(`## Session Summary (Compaction Round ${String(events.cycles)})`),
    ...(events.originalTask === undefined
      ? []
      : [line('### Original Task'), { kind: 'batch', batchId: 'original-task', text: events.originalTask } as const]),
    ...(rows.length === 0
      ? []
      : [line(`### Completed Work\n| File | Action | Description |\n| --- | --- | --- |\n${rows.join('\n')}`)]),
    ...told
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
    ...list('Pending Work', last?.pendingWork ?? [], '- [ ] '),
    ...list(
      'Errors and Resolutions',
      sections.flatMap((section) => section.errors),
    ),
  ]
}
