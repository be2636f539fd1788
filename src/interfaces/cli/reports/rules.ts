/** Prints rules of the user, and the calls that broke them. */
import type { CheckedRule, Rule, RuleBreak, RuleCheck, RuleTotals, RuleVerdict } from '../../../library/ledger.js'
import { contextText } from '../../../application/rules/rule-texts.js'
import { brief, colours, count, many, printable, showTable } from '../output.js'
import { localTime } from '../time-words.js'

const TEXT_CHARACTERS = 120

const quoted = (text: string): string => `“${brief(text, TEXT_CHARACTERS)}”`

const HEAD = ['rule', 'since', 'standing', 'scope', 'source', 'words', 'taken back'] as const
const columnOf = (name: (typeof HEAD)[number]): number => HEAD.indexOf(name)
const NARROW = {
  optional: [columnOf('source'), columnOf('scope'), columnOf('since')],
  whole: new Set([columnOf('rule')]),
  least: new Map([[columnOf('words'), 28]]),
}

const takenBackText = ({ takenBack }: Rule): string =>
  takenBack === undefined
    ? ''
    : `${takenBack.at === undefined ? `revision ${String(takenBack.revision)}` : localTime(takenBack.at)} by ${quoted(takenBack.text)}`

/** Prints rules as a table. */
export async function showRuleTable(rules: readonly Rule[]): Promise<void> {
  const isAnyTakenBack = rules.some(({ takenBack }) => takenBack !== undefined)
  await showTable(
    HEAD.slice(0, isAnyTakenBack ? HEAD.length : -1),
    rules.map((rule) =>
      [
        printable(rule.id),
        rule.since.at === undefined ? '' : localTime(rule.since.at),
        rule.standing,
        rule.scope,
        rule.source,
        printable(rule.text),
        takenBackText(rule),
      ].slice(0, isAnyTakenBack ? HEAD.length : -1),
    ),
    new Set(),
    NARROW,
  )
}

const COLOUR_OF = { there: String, changed: colours.yellow, gone: colours.red, unclear: String } as const

const contextPart = ({ context }: RuleBreak): string => COLOUR_OF[context.presence](printable(contextText(context)))

const noticedText = ({ noticed }: RuleBreak): string =>
  noticed === undefined
    ? 'nobody noticed'
    : `the ${noticed.by} noticed at revision ${String(noticed.revision)}: ${quoted(noticed.text)}`

const breakLines = (found: RuleBreak): string[] => [
  `    revision ${String(found.revision)}${found.tool === undefined ? '' : ` ${printable(found.tool)}`}: ${printable(found.words)}${found.failed === true ? ' (the call failed)' : ''}`,
  `      ${contextPart(found)}; ${noticedText(found)}`,
]

function verdictText({ verdict, unjudged, calls, breaks }: CheckedRule): string {
  const compared = calls === 0 ? 'no call to compare' : `${many(calls, 'call')} compared`
  if (verdict === 'unjudged') return colours.dim(`cannot be judged: ${printable(unjudged ?? '')}`)
  if (verdict === 'kept') return `${colours.green('kept so far')} (${compared})`
  return `${colours.red(`broken ${breaks.length === 1 ? 'once' : `${count(breaks.length)} times`}`)} (${compared})`
}

const ORDER: readonly RuleVerdict[] = ['broken', 'kept', 'unjudged']

const ruleLines = (rule: CheckedRule): string[] => [
  `${colours.bold(printable(rule.id))}  ${printable(rule.text)}${rule.standing === 'confirmed' ? colours.dim(' (confirmed)') : ''}`,
  `  ${verdictText(rule)}${rule.takenBack === undefined ? '' : `; taken back ${takenBackText(rule)}`}`,
  ...rule.breaks.flatMap(breakLines),
]

const reviewLines = ({ review }: RuleCheck): string[] =>
  review === undefined
    ? []
    : [colours.dim(`${printable(review.model)} read the messages up to revision ${String(review.upTo)}`)]

/** The rules of a conversation, broken ones first. */
export function checkLines(check: RuleCheck, verdicts: readonly RuleVerdict[] = ORDER): string[] {
  const lines = verdicts.flatMap((verdict) => check.rules.filter((rule) => rule.verdict === verdict).flatMap(ruleLines))
  return lines.length === 0 ? [] : [...lines, ...reviewLines(check)]
}

/** The counts of a check. */
export function totalsLine({ conversations, rules, judged, broken, breaks, withoutRule }: RuleTotals): string {
  const where = `${many(rules, 'rule')} in ${many(conversations, 'conversation')}`
  const compared = `${count(judged)} can be judged`
  if (breaks === 0) return `${where}: ${compared}, ${colours.green('none broken')}`
  const without =
    withoutRule === 0
      ? 'the rule was in the context each time'
      : `${count(withoutRule)} of these without the whole rule in the context`
  return `${where}: ${compared}, ${colours.red(`${count(broken)} broken`)} by ${many(breaks, 'call')} (${without})`
}
