/** The working state as the document that a model updates: a line for each item, with its id and its revisions. Pure text. */
import { byImportance, sourcesText, wordsOf } from './working-state-view.js'
import { groupsOf } from './working-state.js'
import type { StateItem, WorkingState } from '../events/index.js'
import { defaultEstimator } from '../values/tokens.js'

/** A statement with this weight is a rule, a refusal or a correction. */
const RULE_WEIGHT = 80

const kindOf = ({ kind, weight }: StateItem): string =>
  kind === 'statement' && weight >= RULE_WEIGHT ? 'rule (statement)' : kind

const lineOf = (item: StateItem): string => `${item.id} ${kindOf(item)} (${sourcesText(item)}): ${wordsOf(item, false)}`

/**
 * The items in force, in their order.
 * @param maxTokens the most tokens of the text, estimated; the least important items are omitted
 * @returns an empty text if there are none
 */
export function documentText(state: WorkingState, maxTokens: number): string {
  const groups = groupsOf(state)
  const fitting = new Set<StateItem>()
  let left = maxTokens
  for (const group of byImportance(groups)) {
    left -= defaultEstimator.text(`${group.map(lineOf).join('\n')}\n`)
    if (left < 0) break
    for (const item of group) fitting.add(item)
  }
  const lines = groups
    .flat()
    .filter((item) => fitting.has(item))
    .map(lineOf)
  return lines.join('\n')
}

/** The tokens of a document in summaries: as many as a view has by default. */
const DOCUMENT_IN_SUMMARIES = 5

/** The most tokens that a document should have, for a limit of a summary. */
export const documentTokens = (maxSummaryTokens: number): number => maxSummaryTokens * DOCUMENT_IN_SUMMARIES
