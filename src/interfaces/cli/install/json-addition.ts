/**
 * Additions to JSON settings. An addition is one inserted text; all other bytes stay, with their comments and indentation.
 * Removing that text restores the file.
 */
import { lineBreakOf } from '../../../lib/platform.js'
import { getNodeValue, parseTree, type Node, type ParseError } from 'jsonc-parser'
import { isDeepStrictEqual } from 'node:util'
import type { Addition } from './installation.js'
import { unusable } from './settings-file.js'

type JsonAddition = Extract<Addition, { readonly kind: 'json' }>

/** A text with one insertion. */
export interface Inserted {
  readonly text: string
  readonly insertion: string
}

/** The text of a settings file that does not exist yet. */
export const EMPTY_JSON = '{}\n'

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** Parses a settings file. */
function parsed(text: string, { file, isStrict }: JsonAddition): Node {
  const errors: ParseError[] = []
  // A byte order mark stays in the file; the parser sees a space.
  const root = parseTree(text.replace(/^\ufeff/u, ' '), errors, {
    disallowComments: isStrict,
    allowTrailingComma: !isStrict,
    allowEmptyContent: false,
  })
  const [first] = errors
  if (first !== undefined) throw unusable(file, `is not valid JSON: see line ${String(lineAt(text, first.offset))}`)
  if (root?.type !== 'object') throw unusable(file, 'is not a JSON object')
  return root
}

/** The value of a member. Of several with one name, the last one counts, as in `JSON.parse`. */
const memberOf = (object: Node, name: string): Node | undefined =>
  object.children?.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1]

/** Whether a node has this value. The objects of the parser have no prototype, so both are compared as parsed from JSON. */
const hasValue = (node: Node, value: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(getNodeValue(node))), JSON.parse(JSON.stringify(value)))

interface Place {
  /** The object or list that gets the addition. */
  readonly container: Node
  /** The names that are missing below it. */
  readonly missing: readonly string[]
}

/** The innermost existing container on the path of an addition. */
function placeOf(root: Node, { file, path, isItem }: JsonAddition): Place {
  let container = root
  for (const [at, name] of path.entries()) {
    const isLast = at === path.length - 1
    const next = memberOf(container, name)
    if (next === undefined) return { container, missing: path.slice(at) }
    const expected = isLast && isItem ? 'array' : 'object'
    if (!isLast || isItem) {
      if (next.type !== expected)
        throw unusable(
          file,
          `has another form than documented: ${path.slice(0, at + 1).join('.')} is not ${expected === 'array' ? 'a list' : 'an object'}`,
        )
      container = next
    }
  }
  return { container, missing: isItem ? [] : path.slice(-1) }
}

/** Whether the file already has the addition, even if another program wrote it. */
function hasAddition({ container, missing }: Place, { file, value, isItem, path }: JsonAddition): boolean {
  if (isItem) return missing.length === 0 && (container.children ?? []).some((item) => hasValue(item, value))
  const [name = ''] = missing
  const present = missing.length === 1 ? memberOf(container, name) : undefined
  if (present === undefined) return false
  if (hasValue(present, value)) return true
  throw unusable(file, `has another ${path.join('.')}, which this command did not write: remove or rename it first`)
}

/** The value at the place of an addition: the added one, or else the first in the list that `isOurs`. */
export function findJson(text: string, addition: JsonAddition, isOurs: (value: unknown) => boolean): unknown {
  const { container, missing } = placeOf(parsed(text, addition), addition)
  if (!addition.isItem) {
    const member = missing.length > 1 ? undefined : memberOf(container, addition.path.at(-1) ?? '')
    return member === undefined ? undefined : getNodeValue(member)
  }
  const items = missing.length === 0 ? (container.children ?? []) : []
  const item = items.find((each) => hasValue(each, addition.value)) ?? items.find((each) => isOurs(getNodeValue(each)))
  return item === undefined ? undefined : getNodeValue(item)
}

/** The white space before the first character of a line. */
function indentationAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/u.exec(text.slice(start, offset))?.[0] ?? ''
}

/** One step of indentation in this file. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/u.exec(text)?.[1] ?? '  '
}

/** Adds a value at the beginning of its container. Undefined if the file already has it. */
export function addJson(text: string, addition: JsonAddition): Inserted | undefined {
  const target = placeOf(parsed(text, addition), addition)
  if (hasAddition(target, addition)) return undefined
  const { container, missing } = target
  const newline = lineBreakOf(text)
  const unit = unitOf(text)
  const outer = indentationAt(text, container.offset)
  const inner = `${outer}${unit}`
  const { value, isItem } = addition
  const [name, ...below] = missing
  const whole = below.reduceRight<unknown>(
    (nested, each) => ({ [each]: nested }),
    isItem && name !== undefined ? [value] : value,
  )
  const body = JSON.stringify(whole, undefined, unit).replaceAll('\n', `${newline}${inner}`)
  const member = name === undefined ? body : `${JSON.stringify(name)}: ${body}`
  // After a comment on the line of the bracket, so that it stays there.
  const bracket = container.offset + 1
  const comment =
    /^[ \t]*(?:\/\/[^\r\n]*|(?:\/\*(?:(?!\*\/)[^\r\n])*\*\/[ \t]*)+(?=[\r\n]))/u.exec(text.slice(bracket))?.[0] ?? ''
  const at = bracket + comment.length
  const isFollowed = (container.children ?? []).length > 0
  const endsLine = /^[ \t]*\r?\n/u.test(text.slice(at))
  const insertion = `${newline}${inner}${member}${isFollowed ? ',' : ''}${endsLine ? '' : `${newline}${isFollowed ? inner : outer}`}`
  return { text: `${text.slice(0, at)}${insertion}${text.slice(at)}`, insertion }
}

/**
 * Removes an added value from a file that was rewritten since, so that the inserted text is no longer there.
 * Undefined if the file does not have the value.
 */
export function removeJson(text: string, addition: JsonAddition): string | undefined {
  const root = parsed(text, addition)
  const { container, missing } = placeOf(root, addition)
  const { isItem, path, value } = addition
  const members = container.children ?? []
  const isEqual = (node: Node | undefined): boolean => node !== undefined && hasValue(node, value)
  const present = isItem || missing.length > 1 ? undefined : memberOf(container, path.at(-1) ?? '')
  const node = isItem && missing.length === 0 ? members.find(isEqual) : isEqual(present) ? present?.parent : undefined
  if (node === undefined) return undefined
  const at = members.indexOf(node)
  const [before, after] = [members[at - 1], members[at + 1]]
  const end = node.offset + node.length
  const [from, to] =
    after !== undefined
      ? [node.offset, after.offset]
      : before !== undefined
        ? [before.offset + before.length, end]
        : [node.offset, end]
  return `${text.slice(0, from)}${text.slice(to)}`
}
