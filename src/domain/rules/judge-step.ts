/** Compares a step of a call with a condition of a rule. */
import { contentWords } from '../text/content-words.js'
import { includes, isNameOf, type Action } from './actions.js'
import type { CallStep } from './call-step.js'
import { isSqlClient, sqlChanges } from './command-steps.js'
import type { Condition } from './read-rule.js'
import { isUnder } from './path-match.js'
import { isProgram, type Target } from './targets.js'

const programOf = ({ command }: CallStep): string | undefined => command?.[0]?.replace(/^.*[/\\]/u, '')

/** Whether the words of a command are in a step, in their order, the program first; `-rf` is `-fr` and `-r -f`. */
function runsCommand(step: CallStep, text: string): boolean {
  const [program, ...words] = text.split(/\s+/u)
  const { command } = step
  if (command === undefined || programOf(step) !== program) return false
  const short = command.filter((each) => /^-[A-Za-z]+$/u.test(each)).join('')
  let from = 1
  for (const word of words) {
    if (/^-[A-Za-z]{2,}$/u.test(word) && Array.from(word.slice(1)).every((letter) => short.includes(letter))) continue
    const at = command.findIndex((each, index) => index >= from && isSameWord(each, word))
    if (at < 0) return false
    if (!word.startsWith('-')) from = at + 1
  }
  return true
}

/** A flag may have a value. */
const isSameWord = (given: string, wanted: string): boolean => given === wanted || given.startsWith(`${wanted}=`)

/** Whether a step has a name: equal, or a part between dots, colons and slashes. */
const hasName = (step: CallStep, text: string): boolean =>
  step.names.some((name) => name === text || name.endsWith(`.${text}`) || name.startsWith(`${text}.`)) ||
  step.files.some((file) => isUnder(file, text))

const CLUSTER = /^(?:kubectl|helm|helmfile|k9s|oc|kustomize|argocd)$/u
/** Programs that change databases and are no SQL clients. */
const OF_DATABASES = /^(?:dropdb|createdb|prisma|knex|flyway|alembic)$/u

function isInArea(step: CallStep, area: string): boolean {
  const program = programOf(step) ?? ''
  if (area === 'cluster') return CLUSTER.test(program)
  return step.command === undefined
    ? sqlChanges(step.text) !== undefined
    : isSqlClient(program) || OF_DATABASES.test(program)
}

/** Whether a step acts on a path. Names have no capitals, so a file with the same name in other letters is another one. */
function hasPath({ files, names }: CallStep, { text, exact = text }: Target): boolean {
  const similar = files.filter((file) => isUnder(file, text))
  return similar.length > 0
    ? similar.some((file) => isUnder(file, exact, true))
    : names.some((name) => isUnder(name, text))
}

/** Whether a step acts on a target. */
export function hasTarget(step: CallStep, target: Target): boolean {
  if (step.branches !== undefined && (target.kind === 'name' || target.kind === 'path') && !isProgram(target))
    return step.branches.includes(target.text) || step.files.some((file) => isUnder(file, target.text))
  switch (target.kind) {
    case 'command':
      return runsCommand(step, target.text)
    case 'flag':
      return step.command?.some((word) => isSameWord(word, target.text)) === true
    case 'path':
      return hasPath(step, target)
    case 'statement':
      return hasStatement(step, target.text)
    case 'area':
      return isInArea(step, target.text)
    case 'address':
      return step.names.includes(target.text) || step.command?.some((word) => word.includes(target.text)) === true
    case 'name':
      return isProgram(target) && step.command !== undefined
        ? programOf(step) === target.text
        : hasName(step, target.text)
  }
}

/** Whether a step runs a statement of SQL, or a command of a store. An edit of a file has the same words in its text. */
function hasStatement({ command, files, text }: CallStep, statement: string): boolean {
  if (command === undefined && files.length > 0) return false
  return [...(command ?? []), text].some((words) =>
    new RegExp(String.raw`(?<![\w-])${statement.replaceAll(' ', String.raw`\s+`)}(?![\w-])`, 'iu').test(words),
  )
}

const isCommand = ({ kind }: Target): boolean => kind === 'command' || kind === 'flag'

/** The actions that a rule without words for them forbids, by the kind of its targets. */
function actionsOf(actions: readonly Action[], targets: readonly Target[]): readonly Action[] {
  if (targets.some(({ kind }) => kind === 'command')) return ['run']
  if (targets.some(isProgram)) return ['run', 'use']
  const specific = actions.filter((action) => action !== 'run' && action !== 'use')
  if (specific.length > 0) return specific
  if (targets.some(({ kind }) => kind === 'flag')) return ['run']
  return actions.length > 0 ? ['use', 'change'] : ['change']
}

/** Whether a step runs the program that a rule names: a name of its own, or a file. */
const runsProgram = (step: CallStep, { kind, text }: Target): boolean =>
  (kind === 'name' && programOf(step) === text) || (kind === 'path' && isUnder(step.command?.[0] ?? '', text))

function isForbidden(step: CallStep, actions: readonly Action[], targets: readonly Target[]): boolean {
  if (
    actions.includes('run') &&
    step.actions.has('run') &&
    targets.some((target) => !isProgram(target) && runsProgram(step, target))
  )
    return true
  const wanted = actionsOf(actions, targets)
  const reads = wanted.includes('read')
  // A program or a command is not to be run, whatever it does. A dry run has no action `run`.
  const isRun = targets.some((target) => isCommand(target) || isProgram(target))
  if (step.reads && !reads && !isRun) return false
  if (!wanted.some((action) => includes(action, step.actions)) && !(reads && step.reads)) return false
  if (targets.length === 0) return true
  const groups = [
    targets.filter(({ kind }) => kind === 'command'),
    targets.filter(({ kind }) => kind === 'flag'),
    // "No docker on db-1": the program and the place.
    targets.filter((target) => isProgram(target)),
    // "No DELETE on readings": the statement and the table.
    targets.filter(({ kind }) => kind === 'statement'),
    targets.filter((target) => !isCommand(target) && !isProgram(target) && target.kind !== 'statement'),
  ]
  return groups.every((group) => group.length === 0 || group.some((target) => hasTarget(step, target)))
}

/** The amounts of a step in whole units. */
const amountsOf = ({ amounts }: CallStep, isPercent: boolean): readonly number[] =>
  amounts
    .filter(({ name }) => isPercent === /percent|pct|discount|rate/u.test(name))
    .map(({ name, value }) => (/cents|minor/u.test(name) ? value / 100 : value))

/** Whether a step does what a limit is about, or its tool is named in the rule. */
function isAboutAmount(step: CallStep, { action, subject }: Extract<Condition, { kind: 'cap' }>): boolean {
  if (step.reads) return false
  if (includes(action, step.actions)) return true
  const words = new Set(contentWords(step.text.replace(/\(.*$/u, '').replaceAll(/[_-]/gu, ' ')))
  return subject.some((word) => words.has(word))
}

const ENVIRONMENT = /^(?:prod(?:uction)?|live|staging|stage|test|testing|dev|development|qa|preview|sandbox)$/u
const ADDRESS = /^[^@\s]+@[\w-]+\.\w/u

/** Whether a step names an object of the kind that the rule names, and none of the rule's. */
function isElsewhere(step: CallStep, { action, targets }: Extract<Condition, { kind: 'only' }>): boolean {
  const objects =
    action === 'change'
      ? step.files
      : action === 'push' || action === 'commit'
        ? (step.branches ?? [])
        : step.names.filter((name) => (action === 'send' ? ADDRESS : ENVIRONMENT).test(name))
  return objects.length > 0 && !targets.some((target) => hasTarget(step, target))
}

/** Whether a step was made in a window of the day; as allowed if its time is not known. */
function isInWindow({ at }: CallStep, { from, to, isAllowed }: Extract<Condition, { kind: 'window' }>): boolean {
  const time = new Date(at ?? '')
  if (Number.isNaN(time.getTime())) return isAllowed
  const minute = time.getUTCHours() * 60 + time.getUTCMinutes()
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to
}

/** Words in the names of tools that say nothing. */
const OF_ANY_TOOL = new Set(['mcp', 'tool', 'api', 'call', 'do', 'run', 'functions', 'default'])
const LEAST_WORDS = 2

/** Whether each word in the name of a tool is a word of the rule, or one of its actions; at least one names the object. */
function isNamedByRule(step: CallStep, { words, actions }: Extract<Condition, { kind: 'tool' }>): boolean {
  if (step.command !== undefined || step.reads || step.tool === undefined) return false
  const parts = step.tool.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '' && !OF_ANY_TOOL.has(part))
  const isAct = (part: string): boolean => actions.some((action) => isNameOf(part, action))
  const isObject = (part: string): boolean => contentWords(part).some((word) => words.includes(word))
  return (
    parts.length >= LEAST_WORDS &&
    parts.every((part) => isObject(part) || isAct(part)) &&
    parts.some((part) => isObject(part) && !isAct(part))
  )
}

const isOfFlag = (step: CallStep, { command, action }: Extract<Condition, { kind: 'with' }>): boolean =>
  (command === undefined ? !step.reads : step.actions.has('run') && hasTarget(step, command)) &&
  (action === undefined || includes(action, step.actions))

/** Whether a command certainly lacks a flag: a flag has a short and a long form, and no list of these is known here. */
function lacksFlag({ command }: CallStep, flag: string): boolean {
  if (command === undefined || command.some((word) => isSameWord(word, flag))) return false
  const shorts = command.filter((word) => /^-[A-Za-z]+$/u.test(word)).join('')
  if (flag.startsWith('--')) return !shorts.includes(flag.charAt(2))
  return !shorts.includes(flag.charAt(1)) && !command.some((word) => word.startsWith('--'))
}

/** A condition that earlier steps decide. */
export interface Before {
  /** Whether a command ran since the last step with the action. */
  ranSince(action: Action, command: Target): boolean
}

/** Whether a step breaks a condition. `language` is judged by answers, and not by calls. */
export function breaks(step: CallStep, condition: Condition, before: Before): boolean {
  switch (condition.kind) {
    case 'forbid':
      return isForbidden(step, condition.actions, condition.targets)
    case 'only':
      return !step.reads && includes(condition.action, step.actions) && isElsewhere(step, condition)
    case 'first':
      return (
        !step.reads &&
        includes(condition.action, step.actions) &&
        condition.commands.some((command) => !before.ranSince(condition.action, command))
      )
    case 'with':
      return isOfFlag(step, condition) && lacksFlag(step, condition.flag.text)
    case 'cap':
      return (
        isAboutAmount(step, condition) && amountsOf(step, condition.isPercent).some((amount) => amount > condition.most)
      )
    case 'window':
      return (
        isForbidden(step, condition.actions, condition.targets) && isInWindow(step, condition) !== condition.isAllowed
      )
    case 'tool':
      return isNamedByRule(step, condition)
    case 'language':
      return false
  }
}
