/**
 * The session-summary view: one message that each cycle builds from all active batches. It has the first message word
 * for word, the merged sections (`merge-sections.ts`), and the text of batches without sections under their dates. Pure
 * text within a limit: sections share the budget by importance, and lines give the number and the dates of omitted
 * entries.
 */
import { summaryOf, type Batch } from './batch.js'
import type { ViewPart } from './clip-archive.js'
import { isRequest } from './is-request.js'
import { mergeSections } from './merge-sections.js'
import { blockParts, blocksOf, costOf, fitBlock, needOf, type Block, type FittedBlock } from './section-blocks.js'
import { shareTokens, type Need } from './share-tokens.js'
import { many, omittedBatches, omittedText, spanText } from './view-lines.js'
import type { Estimator } from '../values/tokens.js'

export interface SessionEvents {
  readonly batches: readonly Batch[]
  readonly originalTask: string | undefined
  readonly cycles: number
}

/** The id of the view's part that shows the first message. */
export const ORIGINAL_TASK = 'original-task'

const line = (text: string): ViewPart => ({ kind: 'line', text })

/** The id under which the texts of batches without sections share the budget. */
const TEXTS = 'texts'
/** Reserved for the headings of the view and the lines that count omitted entries. */
const NOTES_TOKENS = 60

const textHead = (batch: Batch): string => `### ${spanText(batch)}`
const textCost = (batch: Batch, estimator: Estimator): number => batch.tokens + costOf(textHead(batch), estimator)

/**
 * The batches without sections that fit: always the newest one, then the earliest one, then from the newest one
 * backwards until one does not fit. The omitted ones are consecutive.
 */
function textsThatFit(batches: readonly Batch[], maxTokens: number, estimator: Estimator): ReadonlySet<Batch> {
  const all = batches.reduce((sum, batch) => sum + textCost(batch, estimator), 0)
  if (all <= maxTokens) return new Set(batches)
  const chosen = new Set<Batch>()
  let left = maxTokens - costOf(omittedBatches(batches), estimator)
  const [first, ...later] = batches
  const [newest, ...before] = later.toReversed()
  for (const batch of [newest, first, ...before]) {
    if (batch === undefined) continue
    const cost = textCost(batch, estimator)
    if (cost > left && chosen.size > 0) break
    left -= cost
    chosen.add(batch)
  }
  return chosen.size === 0 ? new Set(batches.slice(-1)) : chosen
}

/** The text of each batch under its dates, and a line for each run of batches that is omitted. */
function textParts(batches: readonly Batch[], shownTexts: ReadonlySet<Batch>): ViewPart[] {
  const parts: ViewPart[] = []
  let omitted: Batch[] = []
  const endRun = (): void => {
    if (omitted.length > 0) parts.push(line(omittedBatches(omitted)))
    omitted = []
  }
  for (const batch of batches) {
    if (!shownTexts.has(batch)) {
      omitted.push(batch)
      continue
    }
    endRun()
    parts.push(line(textHead(batch)), { kind: 'batch', batchId: batch.batchId, text: summaryOf(batch) })
  }
  endRun()
  return parts
}

/**
 * The tokens that each section needs, and the texts together.
 * @param batches number of all batches
 */
function needsOf(
  blocks: readonly Block[],
  texts: readonly Batch[],
  batches: number,
  estimator: Estimator,
): (Need & Pick<Block, 'isFirst'>)[] {
  const sections = blocks.map((block) => ({ ...block, tokens: needOf(block, estimator) }))
  if (texts.length === 0) return sections
  const tokens = texts.reduce((sum, batch) => sum + textCost(batch, estimator), 0)
  // The text of a batch contains the equivalent of all sections of other batches.
  return [...sections, { id: TEXTS, isFirst: false, weight: Math.max(3, (16 * texts.length) / batches), tokens }]
}

/**
 * Fits the rows of each section into its share. Unused tokens go to sections that omit rows, the most important ones
 * first.
 */
function fitBlocks(
  blocks: readonly Block[],
  shares: ReadonlyMap<string, number>,
  estimator: Estimator,
): readonly FittedBlock[] {
  const fitted = new Map(blocks.map((block) => [block.id, fitBlock(block, shares.get(block.id) ?? 0, estimator)]))
  let left = blocks.reduce((sum, { id }) => sum + (shares.get(id) ?? 0) - (fitted.get(id)?.tokens ?? 0), 0)
  for (const block of blocks.toSorted((a, b) => Number(b.isFirst) - Number(a.isFirst) || b.weight - a.weight)) {
    const before = fitted.get(block.id)
    if (before === undefined || before.omittedRows.length === 0) continue
    const after = fitBlock(block, before.tokens + left, estimator)
    left -= after.tokens - before.tokens
    fitted.set(block.id, after)
  }
  return [...fitted.values()]
}

/** The parts of sections. One line at the end counts the sections that have no entry shown. */
function sectionParts(fitted: readonly FittedBlock[]): ViewPart[] {
  const without = fitted.filter(({ shownRows }) => shownRows.length === 0).map(({ block }) => block)
  const counts = without.map(({ rows, noun: [one, several] }) => many(rows.length, one, several)).join(', ')
  return [
    ...fitted.filter(({ shownRows }) => shownRows.length > 0).flatMap(blockParts),
    ...(without.length === 0
      ? []
      : [
          line(
            omittedText(
              counts,
              without.flatMap(({ rows }) => rows),
            ),
          ),
        ]),
  ]
}

/** Sections about the present. They come last, after the text of newer batches. */
const PRESENT: ReadonlySet<string> = new Set(['current-state', 'open-items', 'next-steps'])

function firstMessageParts(text: string | undefined): ViewPart[] {
  return text === undefined
    ? []
    : [
        line(isRequest(text) ? '### Original request' : '### First message'),
        { kind: 'batch', batchId: ORIGINAL_TASK, text },
      ]
}

/**
 * The parts of the view. The text of batches from before the first batch with sections comes before the sections, other
 * text after their history.
 * @param maxTokens limits everything except the first message, which is shown word for word
 */
export function sessionSummaryParts(events: SessionEvents, maxTokens: number, estimator: Estimator): ViewPart[] {
  const { batches, originalTask, cycles } = events
  const merged = mergeSections(batches)
  const blocks = blocksOf(merged)
  const texts = batches.filter(({ sections }) => sections === undefined)
  const needs = needsOf(blocks, texts, batches.length, estimator)
  const all = needs.reduce((sum, { tokens }) => sum + tokens, 0)
  const shares = shareTokens(needs, all <= maxTokens ? maxTokens : maxTokens - NOTES_TOKENS)
  const shownTexts = textsThatFit(texts, shares.get(TEXTS) ?? 0, estimator)
  const firstSections = batches.findIndex(({ sections }) => sections !== undefined)
  const earlyTexts = firstSections === -1 ? [] : batches.slice(0, firstSections)
  const fitted = fitBlocks(blocks, shares, estimator)
  const steps = merged.earlierSteps
  return [
    line(`## Session Summary (Compaction Round ${String(cycles)})`),
    ...firstMessageParts(originalTask),
    ...textParts(earlyTexts, shownTexts),
    ...sectionParts(fitted.filter(({ block }) => !PRESENT.has(block.id))),
    ...textParts(texts.slice(earlyTexts.length), shownTexts),
    ...sectionParts(fitted.filter(({ block }) => PRESENT.has(block.id))),
    ...(steps.length === 0 ? [] : [line(omittedText(many(steps.length, 'earlier next step'), steps))]),
  ]
}
