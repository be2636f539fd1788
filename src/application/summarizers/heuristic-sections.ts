/**
 * The named sections of a summary without a model: completed work from tool calls that write files, the rest from the
 * cues of sentences.
 */
import { NO_SECTIONS, type Sections } from '../../domain/events/index.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import type { SummaryToFold } from '../../ports/summarizer.js'
import { kindOfSentence } from '../../domain/text/speech.js'
import { headOf } from '../../domain/text/clean-text.js'
import { collectIdentifiers } from '../../domain/text/identifiers.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { termCounts } from '../../domain/text/terms.js'
import { actionText, type ToolAction } from './tool-actions.js'
import type { Unit } from './units.js'

const MAX_ENTRIES = 8
const MAX_ENTRY_CHARACTERS = 240
// Pending work is taken from the end: work announced early was done or dropped since.
const PENDING_SHARE = 0.3
// Text below this weight is pasted or inserted by a program: it has many words like "must" and "error" but no
// decisions.
const LEAST_WEIGHT = 0.3
// Agents announce their work, and then make several tool calls for it.
const MESSAGES_BEFORE_A_CALL = 6

const short = (text: string): string =>
  text.length <= MAX_ENTRY_CHARACTERS ? text : `${headOf(text, MAX_ENTRY_CHARACTERS).trimEnd()}…`
const unique = (entries: readonly string[]): readonly string[] => [...new Set(entries)]

const ACTIONS: readonly (readonly [RegExp, string])[] = [
  [/delete|remove/iu, 'deleted'],
  [/rename|move/iu, 'moved'],
  [/write|create|save/iu, 'written'],
  [/./u, 'edited'],
]
const actionName = (tool: string): string => ACTIONS.find(([pattern]) => pattern.test(tool))?.[1] ?? 'edited'

type Work = Sections['completedWork'][number]

/** The written files, each once, with the last statement before the last call as the purpose. */
function completedWork(actions: readonly ToolAction[], units: readonly Unit[]): Work[] {
  const work = new Map<string, Work>()
  for (const action of actions) {
    if (action.effect !== 'write' || action.file === undefined || action.failed) continue
    const lastStatement = units.findLast(
      (unit) =>
        unit.kind === 'speech' &&
        !unit.cues.question &&
        unit.group <= action.message &&
        unit.group >= action.message - MESSAGES_BEFORE_A_CALL &&
        unit.speaker !== 'user',
    )
    const name = actionName(action.tool)
    const key = `${name} ${action.file}`
    const description = lastStatement === undefined ? (work.get(key)?.description ?? '') : short(lastStatement.text)
    work.delete(key)
    work.set(key, { file: action.file, action: name, description })
  }
  return [...work.values()].slice(-3 * MAX_ENTRIES)
}

/** The units with the highest scores, in time order. */
const best = (units: readonly Unit[], most = MAX_ENTRIES): string[] => [
  ...unique(
    units
      .toSorted((a, b) => b.score - a.score || a.order - b.order)
      .slice(0, most)
      .toSorted((a, b) => a.order - b.order)
      .map((unit) =>
        short(
          unit.speaker === '' || unit.speaker === 'assistant' || unit.kind === 'action'
            ? unit.text
            : `${unit.speaker}: ${unit.text}`,
        ),
      ),
  ),
]

function currentState(units: readonly Unit[], actions: readonly ToolAction[]): string[] {
  const spoken = units.filter((unit) => unit.kind === 'speech' && unit.weight >= LEAST_WEIGHT && !unit.cues.filler)
  const last = spoken.at(-1)
  const lastStatements =
    last === undefined
      ? []
      : best(
          spoken.filter((unit) => unit.group === last.group),
          2,
        )
  const action = actions.at(-1)
  return action === undefined || (last !== undefined && last.group > action.message)
    ? lastStatements
    : [...lastStatements, short(actionText(action))]
}

const cost = (value: unknown): number => defaultEstimator.text(JSON.stringify(value))

/** Sections that give up entries only if the others have none left. */
const LASTING: ReadonlySet<keyof Sections> = new Set(['requests', 'constraints', 'openItems'])

/** Removes the oldest entries of the longest section until all sections together cost at most `maxTokens`. */
function bounded(sections: Sections, maxTokens: number): Sections {
  let all: Sections = sections
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant object
  const names = Object.keys(NO_SECTIONS) as (keyof Sections)[]
  const limit = maxTokens + cost(NO_SECTIONS)
  while (cost(all) > limit) {
    const filled = names.filter((name) => all[name].length > 0)
    if (filled.length === 0) break
    const expendable = filled.filter((name) => !LASTING.has(name))
    const longest = (expendable.length > 0 ? expendable : filled).reduce((longer, name) =>
      cost(all[name]) > cost(all[longer]) ? name : longer,
    )
    all = { ...all, [longest]: all[longest].slice(1) }
  }
  return all
}

// A sentence with fewer names, numbers and identifiers is talk.
const LEAST_IN_A_FACT = 2
const NAME = /(?<=[\p{Ll}\p{N},;:] )\p{Lu}\p{Ll}{2,}/gu
const NEXT_STEP =
  /(?<![\p{L}\p{N}])(?:next(?: steps?)?[,:]|next(?: steps?)? (?:is|are)|the next step|als nächstes|nächster schritt|ensuite|prochaine étape|siguiente paso|a continuación|далее|следующий шаг)|接下[来來]|下一步|次に|次は|다음(?:은|으로)?/iu

function isFact({ text, cues }: Unit): boolean {
  if (cues.question) return false
  const { files, identifiers } = collectIdentifiers(text)
  const found = files.length + identifiers.length + numbersIn(text).length + (text.match(NAME)?.length ?? 0)
  return found >= LEAST_IN_A_FACT
}

/** The sentences of a chunk that ask, bind or decide. Other work may run between two sentences. */
async function bySpeaker(speech: readonly Unit[], isWork: boolean) {
  const kinds = new Map<Unit, ReturnType<typeof kindOfSentence>>()
  for (const unit of speech) {
    if (isPauseDue()) await pause()
    kinds.set(unit, kindOfSentence(unit.givesOrders ? 'user' : 'assistant', unit.text, isWork))
  }
  const isConstraint = (unit: Unit): boolean =>
    unit.givesOrders &&
    !unit.cues.question &&
    (kinds.get(unit) === 'constraint' || (kinds.get(unit) === undefined && unit.cues.preference))
  const isDecision = (unit: Unit): boolean =>
    kinds.get(unit) === 'decision' || (unit.cues.decision && !unit.cues.question && kinds.get(unit) !== 'request')
  const constraints = speech.filter(isConstraint)
  return {
    requests: speech.filter((unit) => unit.givesOrders && kinds.get(unit) === 'request'),
    constraints,
    decisions: speech.filter((unit) => !constraints.includes(unit) && isDecision(unit)),
  }
}

/** The sections of a chunk. Together they are at most `maxTokens`, like the summary. */
export async function sectionsOfChunk(
  units: readonly Unit[],
  actions: readonly ToolAction[],
  messages: number,
  maxTokens: number,
): Promise<Sections> {
  const speech = units.filter(
    (unit) =>
      unit.kind === 'speech' &&
      unit.weight >= LEAST_WEIGHT &&
      !unit.cues.filler &&
      unit.terms.size >= 3 &&
      !unit.text.endsWith(':'),
  )
  const late = speech.filter((unit) => unit.group >= messages * (1 - PENDING_SHARE))
  const { requests, constraints, decisions } = await bySpeaker(speech, actions.length > 0)
  const pending = late.filter((unit) => unit.cues.pending && !unit.cues.outcome && !requests.includes(unit))
  const errors = [
    ...units.filter((unit) => unit.kind === 'action' && unit.cues.error),
    ...speech.filter((unit) => unit.cues.error && !unit.cues.question),
  ]
  const known = new Set([...requests, ...constraints, ...decisions, ...pending, ...errors])
  return bounded(
    {
      ...NO_SECTIONS,
      requests: best(requests),
      constraints: best(constraints),
      decisions: best(decisions),
      facts: best(speech.filter((unit) => !known.has(unit) && isFact(unit))),
      completedWork: completedWork(actions, units),
      errors: best(errors),
      openItems: best(pending, MAX_ENTRIES / 2),
      currentState: currentState(units, actions),
      nextSteps: best(
        pending.filter((unit) => NEXT_STEP.test(unit.text)),
        MAX_ENTRIES / 4,
      ),
    },
    maxTokens,
  )
}

const termsOf = (text: string): readonly string[] => [...termCounts(text).counts.keys()]
// Of the words of an open item, the share that an entry which closes it has too.
const LEAST_SHARED = 0.6

/** Whether an entry of `closedItems` is about an open item: it repeats most of its words. */
function closes(closed: string, open: string): boolean {
  const terms = termsOf(open)
  const repeated = new Set(termsOf(closed))
  if (terms.length === 0) return closed.trim() === open.trim()
  return terms.filter((term) => repeated.has(term)).length >= terms.length * LEAST_SHARED
}

/** Open items of all sources that no later source closes, and the closed items that belong to none of them. */
function openAndClosed(all: readonly Sections[]): Pick<Sections, 'openItems' | 'closedItems'> {
  let openItems: readonly string[] = []
  const closedItems: string[] = []
  for (const sections of all) {
    closedItems.push(...sections.closedItems.filter((closed) => !openItems.some((open) => closes(closed, open))))
    openItems = openItems.filter((open) => !sections.closedItems.some((closed) => closes(closed, open)))
    openItems = unique([...openItems, ...sections.openItems])
  }
  return { openItems: [...openItems], closedItems: [...unique(closedItems)] }
}

/**
 * The sections of summaries that become one: all entries of all sources, each once. Open items stay until a later source
 * closes them; the current state and the next steps are those of the last source. Undefined if no source has sections.
 */
export function mergedSections(summaries: readonly SummaryToFold[], maxTokens: number): Sections | undefined {
  const all = summaries.flatMap(({ sections }) => (sections === undefined ? [] : [sections]))
  const last = all.at(-1)
  if (last === undefined) return undefined
  const union = (name: Exclude<keyof Sections, 'completedWork'>): string[] => [
    ...unique(all.flatMap((sections) => sections[name])),
  ]
  const work = new Map<string, Work>(
    all.flatMap(({ completedWork: done }) => done.map((each) => [JSON.stringify(each), each] as const)),
  )
  return bounded(
    {
      requests: union('requests'),
      constraints: union('constraints'),
      decisions: union('decisions'),
      facts: union('facts'),
      completedWork: [...work.values()],
      errors: union('errors'),
      ...openAndClosed(all),
      currentState: last.currentState,
      nextSteps: last.nextSteps,
      superseded: union('superseded'),
    },
    maxTokens,
  )
}
