/**
 * Finds secrets in a text, in one pass. A table of two-character combinations says where a start of a rule may be, so
 * that most characters cost one lookup; the shape of a rule is tested only there.
 */
import { SECRET_RULES, type SecretRule } from './rules.js'
import { isUnfinishedSecret, VALUE_TESTS } from './values.js'

/** A secret in a text: from `from` up to and without `to`. */
export interface Finding {
  readonly kind: string
  readonly from: number
  readonly to: number
}

/** A start of a rule, and where in it the two characters are by which it is found. */
interface Start {
  readonly text: string
  readonly offset: number
  readonly rule: SecretRule
  readonly index: number
}

/** The characters of the table: ASCII. */
const WIDTH = 128

const isWord = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95

/** The end of a JSON escape, of an URL escape or of a terminal colour, after which a secret may begin. */
const ESCAPE_END = /(?:\\+(?:[nrtbf]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}|\[[0-9;]{0,8}m)$/u
const LONGEST_ESCAPE = 12

/** Whether a secret may begin at `at`: not inside a word. */
function mayBegin(text: string, at: number): boolean {
  if (at === 0 || !isWord(text.charCodeAt(at - 1))) return true
  return ESCAPE_END.test(text.slice(Math.max(0, at - LONGEST_ESCAPE), at))
}

/** How seldom two characters occur: signs, capitals and digits are rarer than small letters. */
function rarity(pair: string): number {
  let points = 0
  for (const character of pair) {
    if (/[^A-Za-z0-9 ]/u.test(character)) points += 2
    else if (/[A-Z0-9]/u.test(character)) points += 3
    else if (/[jkqvwxyz]/u.test(character)) points += 2
  }
  return points
}

/** The offset of the rarest two characters of a start. */
function rarestPair(text: string): number {
  let best = 0
  for (let at = 1; at < text.length - 1; at += 1)
    if (rarity(text.slice(at, at + 2)) > rarity(text.slice(best, best + 2))) best = at
  return best
}

/** Both cases of each of two characters. */
const inBothCases = (pair: string): string[] => {
  const [first = '', second = ''] = pair
  return [first.toLowerCase(), first.toUpperCase()].flatMap((one) =>
    [second.toLowerCase(), second.toUpperCase()].map((two) => one + two),
  )
}

type Scanner = (text: string) => Finding[]

/** Creates a scanner for rules. At the same place, the first rule that matches wins. */
function createScanner(rules: readonly SecretRule[]): Scanner {
  /** For each two characters: 0, or an index in `lists`. */
  const table = new Uint16Array(WIDTH * WIDTH)
  const lists: Start[][] = [[]]
  for (const [index, rule] of rules.entries()) {
    for (const text of rule.starts) {
      const offset = rarestPair(text)
      const pair = text.slice(offset, offset + 2)
      const pairs = new Set(rule.ignoreCase === true ? inBothCases(pair) : [pair])
      for (const each of pairs) {
        const key = each.charCodeAt(0) * WIDTH + each.charCodeAt(1)
        if (table[key] === 0) table[key] = lists.push([]) - 1
        lists[table[key] ?? 0]?.push({
          text: rule.ignoreCase === true ? text.toLowerCase() : text,
          offset,
          rule,
          index,
        })
      }
    }
  }
  return (text) => scan(text, table, lists, rules.length)
}

const startsAt = (text: string, at: number, { text: start, rule }: Start): boolean =>
  rule.ignoreCase === true ? text.slice(at, at + start.length).toLowerCase() === start : text.startsWith(start, at)

function scan(text: string, table: Uint16Array, lists: readonly (readonly Start[])[], rules: number): Finding[] {
  const findings: Finding[] = []
  /** For each rule, the end of its last rejected match: it is not tried again before that, which keeps a scan linear. */
  const rejectedUntil = new Int32Array(rules)
  let end = 0
  let previous = WIDTH
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    const list = code < WIDTH && previous < WIDTH ? (table[previous * WIDTH + code] ?? 0) : 0
    previous = code
    if (list === 0) continue
    const finding = findingAt(text, at - 1, lists[list] ?? [], end, rejectedUntil)
    if (finding === undefined) continue
    findings.push(finding)
    end = finding.to
    at = end - 1
    previous = WIDTH
  }
  return findings
}

function findingAt(
  text: string,
  pairAt: number,
  starts: readonly Start[],
  after: number,
  rejectedUntil: Int32Array,
): Finding | undefined {
  for (const start of starts) {
    const { rule, index } = start
    const from = pairAt - start.offset
    if (from < after || from < (rejectedUntil[index] ?? 0) || !startsAt(text, from, start)) continue
    if (rule.inWord !== true && !mayBegin(text, from)) continue
    rule.shape.lastIndex = from
    const match = rule.shape.exec(text)
    if (match === null) continue
    const finding = secretIn(text, rule, from, match)
    if (finding.from >= after && isSecret(rule, text.slice(finding.from, finding.to), match)) return finding
    rejectedUntil[index] = from + match[0].length
  }
  return undefined
}

function secretIn(text: string, { kind, back }: SecretRule, at: number, match: RegExpExecArray): Finding {
  const secret = match.groups?.['secret']
  const end = at + match[0].length
  // The group is the last part of its shape, except for what follows it there.
  const from = secret === undefined ? at : at + match[0].lastIndexOf(secret)
  if (secret !== undefined) return { kind, from, to: from + secret.length }
  const before = back === undefined ? '' : text.slice(Math.max(0, at - back.length), at)
  return { kind, from: back?.shape.test(before) === true ? at - before.length : at, to: end }
}

function isSecret({ value }: SecretRule, secret: string, { groups }: RegExpExecArray): boolean {
  const unfinished = groups?.['unfinished']
  if (unfinished !== undefined) return isUnfinishedSecret(unfinished === '' ? secret : unfinished)
  return value === undefined || VALUE_TESTS[value](secret)
}

/** The scanner of the rules of this program. */
export const scanText = createScanner(SECRET_RULES)
/** The scanner of text that was Base64. */
export const scanDecoded = createScanner(SECRET_RULES.filter(({ encoded }) => encoded === true))
