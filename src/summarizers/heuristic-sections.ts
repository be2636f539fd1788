/**
 * The named sections of a summary without a model: completed work from the tool calls that write files, the rest from
 * what sentences seem to be.
 */
import type { Sections } from '../domain/events/index.js'
import { defaultEstimator } from '../domain/values/tokens.js'
import type { SummaryToFold } from '../ports/summarizer.js'
import { headOf } from '../domain/text/clean-text.js'
import { actionText, type ToolAction } from './tool-actions.js'
import type { Unit } from './units.js'

const MAX_ENTRIES = 8
const MAX_ENTRY_CHARACTERS = 240
// Pending work is what was said to come next near the end; said early, it was done since or dropped.
const PENDING_SHARE = 0.3
// Below it are pasted texts and what programs put in: full of "must" and "error", and nobody's decision.
const LEAST_WEIGHT = 0.3
// Agents say what they are about to do, and then call several tools for it.
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

/** Files that were written, once each: the last thing said before the last call tells what for. */
function completedWork(actions: readonly ToolAction[], units: readonly Unit[]): Work[] {
  const work = new Map<string, Work>()
  for (const action of actions) {
    if (action.effect !== 'write' || action.file === undefined || action.failed) continue
    const said = units.findLast(
      (unit) =>
        unit.kind === 'speech' &&
        !unit.cues.question &&
        unit.group <= action.message &&
        unit.group >= action.message - MESSAGES_BEFORE_A_CALL &&
        unit.speaker !== 'user',
    )
    const name = actionName(action.tool)
    const key = `${name} ${action.file}`
    const description = said === undefined ? (work.get(key)?.description ?? '') : short(said.text)
    work.delete(key)
    work.set(key, { file: action.file, action: name, description })
  }
  return [...work.values()].slice(-3 * MAX_ENTRIES)
}

/** The worthiest of some units, in time order. */
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
  const said =
    last === undefined
      ? []
      : best(
          spoken.filter((unit) => unit.group === last.group),
          2,
        )
  const action = actions.at(-1)
  return action === undefined || (last !== undefined && last.group > action.message)
    ? said
    : [...said, short(actionText(action))]
}

const cost = (value: unknown): number => defaultEstimator.text(JSON.stringify(value))
const NOTHING: Sections = { completedWork: [], decisions: [], currentState: [], pendingWork: [], errors: [] }

/** Takes entries away from the longest section until all of them together cost at most `maxTokens`. */
function bounded(sections: Sections, maxTokens: number): Sections {
  const all: { [Key in keyof Sections]: Sections[Key] } = { ...sections }
  const names = ['completedWork', 'decisions', 'currentState', 'pendingWork', 'errors'] as const
  while (names.some((name) => all[name].length > 0) && cost(all) > maxTokens + cost(NOTHING)) {
    const longest = names.reduce((most, name) => (cost(all[name]) > cost(all[most]) ? name : most))
    if (longest === 'completedWork') all.completedWork = all.completedWork.slice(1)
    else all[longest] = all[longest].slice(1)
  }
  return all
}

/** The sections of a chunk. Together they are at most `maxTokens`, like the summary. */
export function sectionsOfChunk(
  units: readonly Unit[],
  actions: readonly ToolAction[],
  messages: number,
  maxTokens: number,
): Sections {
  const speech = units.filter(
    (unit) =>
      unit.kind === 'speech' &&
      unit.weight >= LEAST_WEIGHT &&
      !unit.cues.filler &&
      unit.terms.size >= 3 &&
      !unit.text.endsWith(':'),
  )
  const late = speech.filter((unit) => unit.group >= messages * (1 - PENDING_SHARE))
  return bounded(
    {
      completedWork: completedWork(actions, units),
      decisions: best(
        speech.filter(
          (unit) =>
            !unit.cues.question && (unit.cues.decision || (unit.speaker !== 'assistant' && unit.cues.constraint)),
        ),
      ),
      currentState: currentState(units, actions),
      pendingWork: best(
        late.filter((unit) => unit.cues.pending && !unit.cues.outcome),
        MAX_ENTRIES / 2,
      ),
      errors: best([
        ...units.filter((unit) => unit.kind === 'action' && unit.cues.error),
        ...speech.filter((unit) => unit.cues.error && !unit.cues.question),
      ]),
    },
    maxTokens,
  )
}

/**
 * The sections of summaries that become one: what was done and decided adds up; where things stand is what the last one
 * says.
 */
export function mergedSections(summaries: readonly SummaryToFold[], maxTokens: number): Sections | undefined {
  const all = summaries.flatMap(({ sections }) => (sections === undefined ? [] : [sections]))
  const last = all.at(-1)
  if (last === undefined) return undefined
  const work = new Map<string, Work>()
  for (const done of all.flatMap((sections) => sections.completedWork)) {
    work.delete(`${done.action} ${done.file}`)
    work.set(`${done.action} ${done.file}`, done)
  }
  return bounded(
    {
      completedWork: [...work.values()],
      decisions: [...unique(all.flatMap((sections) => sections.decisions))],
      currentState: last.currentState,
      pendingWork: last.pendingWork,
      errors: [...unique(all.flatMap((sections) => sections.errors))],
    },
    maxTokens,
  )
}
