/** Conditions as texts: equal for equal conditions, whatever the words of the rule. */
import type { Action } from './actions.js'
import type { Condition } from './read-rule.js'
import type { Target } from './targets.js'

export const sorted = (texts: readonly string[]): string => [...new Set(texts)].toSorted().join(' ')

const keyOfTargets = (targets: readonly Target[]): string => sorted(targets.map(({ text }) => text))

/** The condition as text: equal for equal conditions. */
function keyOf(condition: Condition): string {
  switch (condition.kind) {
    case 'forbid': {
      const actions = condition.actions.filter((action) => action !== 'use' && action !== 'run')
      return `forbid ${sorted(condition.targets.some(({ kind }) => kind === 'command') ? [] : actions)} ${keyOfTargets(condition.targets)}`
    }
    case 'only':
      return `only ${condition.action} ${keyOfTargets(condition.targets)}`
    case 'first':
      return `first ${condition.action} ${keyOfTargets(condition.commands)}`
    case 'with':
      return `with ${condition.command?.text ?? condition.action ?? ''} ${condition.flag.text}`
    case 'cap':
      return `cap ${condition.action} ${String(condition.most)}`
    case 'window':
      return `window ${sorted(condition.actions)} ${keyOfTargets(condition.targets)} ${String(condition.from)} ${String(condition.to)} ${String(condition.isAllowed)}`
    case 'tool':
      return `tool ${sorted(condition.words)}`
    case 'language':
      return `language ${condition.language}`
  }
}

export const keysOf = (conditions: readonly Condition[]): ReadonlySet<string> => new Set(conditions.map(keyOf))

/** The actions and names that a condition is about. */
export function subjectOf(condition: Condition): {
  readonly actions: readonly Action[]
  readonly targets: readonly Target[]
} {
  switch (condition.kind) {
    case 'forbid':
    case 'window':
      return condition
    case 'only':
      return { actions: [condition.action], targets: condition.targets }
    case 'first':
      return { actions: [condition.action], targets: condition.commands }
    case 'with':
      return {
        actions: condition.action === undefined ? [] : [condition.action],
        targets: [...(condition.command === undefined ? [] : [condition.command]), condition.flag],
      }
    case 'cap':
      return { actions: [condition.action], targets: [] }
    case 'tool':
      return { actions: condition.actions, targets: [] }
    case 'language':
      return { actions: [], targets: [] }
  }
}
