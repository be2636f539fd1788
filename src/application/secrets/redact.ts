/**
 * Replaces secrets in texts and in JSON values. A secret becomes `[secret:<kind>:<fingerprint>]`. The fingerprint is
 * keyed: equal secrets have equal fingerprints, and a guess cannot be tested without the ledger's key.
 */
import { createHmac } from 'node:crypto'
import { either as E } from 'fp-ts'
import { compileBoundedPattern, type BadPattern } from '../../lib/bounded-pattern.js'
import { replaceBase64 } from './base64-runs.js'
import { scanDecoded, scanText, type Finding } from './scan.js'

/** A policy's own rules. */
export interface OwnRules {
  /** Kinds of secrets, each with a pattern. */
  readonly patterns?: Readonly<Record<string, string>> | undefined
  /** Patterns of texts that are no secrets. One must match the whole secret. */
  readonly allow?: readonly string[] | undefined
}

/** A replaced secret, without its place. */
export interface SecretMark {
  readonly kind: string
  readonly fingerprint: string
}

/** The texts that replaced secrets, each with the secrets that it replaced. */
export type Replacements = ReadonlyMap<string, readonly SecretMark[]>

/** A redacted value, and the replacements of its secrets. */
export interface Redacted<Value> {
  readonly value: Value
  readonly replacements: Replacements
}

/** A secret that was found: its kind, its fingerprint, and its place in the text. */
export interface FoundSecret extends Finding {
  readonly fingerprint: string
}

/** A compiled pattern of a policy. */
interface OwnPattern {
  readonly kind: string
  readonly pattern: RegExp
}

/** Hexadecimal digits of a fingerprint. */
const FINGERPRINT_DIGITS = 4
const LINE_BREAK = /\r?\n|\\n/u
/** Decoded text at the start of Base64 that shows whether it is text at all. */
const SAMPLE = 48

/** The text of Base64, a byte a character; undefined if it is not text, for example an image. */
function decodedText(base64: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- binary data is recognized by its control characters
  const control = /[\0-\u0008\u000e-\u001f]/u
  if (control.test(Buffer.from(base64.slice(0, SAMPLE), 'base64').toString('latin1'))) return undefined
  return Buffer.from(base64.replaceAll(/[\r\n]|\\n/gu, ''), 'base64').toString('latin1')
}

/** Text as Base64, in lines as the original. */
function encodedLike(original: string, decoded: string): string {
  const lineBreak = LINE_BREAK.exec(original)
  const encoded = Buffer.from(decoded, 'latin1').toString('base64')
  const whole = original.endsWith('=') ? encoded : encoded.replace(/=+$/u, '')
  if (lineBreak === null) return whole
  const lines = whole.match(new RegExp(`.{1,${String(lineBreak.index)}}`, 'gu')) ?? []
  return lines.join(lineBreak[0])
}

/** Whether the text of a field stays as it is. An element of a list has the name of the list. */
type KeepsText = (field: string | undefined, text: string) => boolean

/** One redaction of a JSON value. */
interface JsonRedaction {
  readonly replacements: Map<string, readonly SecretMark[]>
  readonly keeps: KeepsText | undefined
}

/** Finds and replaces secrets by the program's rules and those of one policy. */
export class Redactor {
  private constructor(
    private readonly key: Uint8Array | undefined,
    private readonly patterns: readonly OwnPattern[],
    private readonly allowed: readonly RegExp[],
  ) {}

  /**
   * @param key the ledger's key for fingerprints. Without one, as outside of a ledger, all fingerprints are zeros: equal
   *   texts are redacted equally on every machine, and no fingerprint confirms a guess
   */
  static create(key: Uint8Array | undefined, own: OwnRules = {}): E.Either<BadPattern, Redactor> {
    const patterns: OwnPattern[] = []
    for (const [kind, source] of Object.entries(own.patterns ?? {})) {
      const pattern = compileBoundedPattern(source)
      if (E.isLeft(pattern)) return pattern
      patterns.push({ kind, pattern: pattern.right })
    }
    const allowed: RegExp[] = []
    for (const source of own.allow ?? []) {
      const pattern = compileBoundedPattern(source)
      if (E.isLeft(pattern)) return pattern
      allowed.push(new RegExp(`^(?:${pattern.right.source})$`, 'u'))
    }
    return E.right(new Redactor(key, patterns, allowed))
  }

  /** The keyed fingerprint of a secret. */
  private fingerprint(secret: string): string {
    if (this.key === undefined) return '0'.repeat(FINGERPRINT_DIGITS)
    return createHmac('sha256', this.key).update(secret, 'utf8').digest('hex').slice(0, FINGERPRINT_DIGITS)
  }

  /** The secrets in a text that are readable as they are, in order. */
  find(text: string, scan = scanText): FoundSecret[] {
    const scanned = scan(text)
    // Most texts are short names without a secret.
    if (scanned.length === 0 && this.patterns.length === 0) return []
    let all = scanned.filter(({ from, to }) => !this.isAllowed(text.slice(from, to)))
    for (const pattern of scan === scanText ? this.patterns : []) {
      const ofPattern = this.ownFindings(text, pattern, all)
      if (ofPattern.length > 0) all = [...all, ...ofPattern].toSorted((a, b) => a.from - b.from)
    }
    const known = new Map<string, string>()
    return all.map((finding) => {
      const secret = text.slice(finding.from, finding.to)
      const fingerprint = known.get(secret) ?? this.fingerprint(secret)
      known.set(secret, fingerprint)
      return { ...finding, fingerprint }
    })
  }

  private isAllowed(secret: string): boolean {
    return this.allowed.some((pattern) => pattern.test(secret))
  }

  /** Matches of one of the policy's patterns between `findings`, which are in order. */
  private ownFindings(text: string, { kind, pattern }: OwnPattern, findings: readonly Finding[]): Finding[] {
    const ofPattern: Finding[] = []
    let next = 0
    for (const match of text.matchAll(pattern)) {
      const [from, to] = [match.index, match.index + match[0].length]
      while (next < findings.length && (findings[next]?.to ?? 0) <= from) next += 1
      const isFree = to <= (findings[next]?.from ?? text.length)
      if (isFree && !this.isAllowed(match[0])) ofPattern.push({ kind, from, to })
    }
    return ofPattern
  }

  /** Redacts a text. The result contains no secret that another call would find. */
  text(text: string): Redacted<string> {
    const replacements = new Map<string, readonly SecretMark[]>()
    return { value: this.redactText(text, replacements), replacements }
  }

  private redactText(text: string, replacements: Map<string, readonly SecretMark[]>): string {
    return this.redactEncoded(this.redactPlain(text, replacements, scanText), replacements)
  }

  private redactPlain(text: string, replacements: Map<string, readonly SecretMark[]>, scan: typeof scanText): string {
    const found = this.find(text, scan)
    if (found.length === 0) return text
    let redacted = ''
    let end = 0
    for (const { kind, fingerprint, from, to } of found) {
      const replacement = `[secret:${kind}:${fingerprint}]`
      replacements.set(replacement, [{ kind, fingerprint }])
      redacted += text.slice(end, from) + replacement
      end = to
    }
    return redacted + text.slice(end)
  }

  /** Redacts inside Base64 text, and encodes the result, so that readers can still decode it. */
  private redactEncoded(text: string, replacements: Map<string, readonly SecretMark[]>): string {
    return replaceBase64(text, (encoded) => {
      const decoded = decodedText(encoded)
      if (decoded === undefined) return encoded
      const inner = new Map<string, readonly SecretMark[]>()
      const redacted = this.redactPlain(decoded, inner, scanDecoded)
      if (inner.size === 0) return encoded
      // If the lines of the original cannot be restored, the marks replace all of it.
      const isRestorable = encodedLike(encoded, decoded) === encoded
      const replacement = isRestorable ? encodedLike(encoded, redacted) : [...inner.keys()].join(' ')
      const marks = this.find(decoded, scanDecoded).map(({ kind, fingerprint }) => ({ kind, fingerprint }))
      replacements.set(replacement, marks)
      return replacement
    })
  }

  /**
   * Redacts all texts of a value that is JSON, or has values without a JSON form, which stay as they are. Unchanged
   * parts are the same objects as before.
   * @param keeps texts that stay, by the name of their field
   */
  json<Value>(value: Value, keeps?: KeepsText): Redacted<Value> {
    const replacements = new Map<string, readonly SecretMark[]>()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only texts change, and stay texts
    return { value: this.redactValue(value, { replacements, keeps }, undefined) as Value, replacements }
  }

  private redactValue(value: unknown, run: JsonRedaction, key: string | undefined): unknown {
    const { replacements, keeps } = run
    if (typeof value === 'string')
      return keeps?.(key, value) === true ? value : this.redactField(key, value, replacements)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const redacted = value.map((each: unknown) => this.redactValue(each, run, key))
      return redacted.some((each, at) => each !== value[at]) ? redacted : value
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) return value
    let changed = false
    const entries = Object.entries(value).map(([name, field]): [string, unknown] => {
      const next = this.redactValue(field, run, name)
      const nextName = this.redactText(name, replacements)
      changed ||= next !== field || nextName !== name
      return [nextName, next]
    })
    return changed ? Object.fromEntries(entries) : value
  }

  /** Redacts the text of a field. The name of the field can be what makes a secret of it: `{ "password": "…" }`. */
  private redactField(
    name: string | undefined,
    text: string,
    replacements: Map<string, readonly SecretMark[]>,
  ): string {
    const redacted = this.redactText(text, replacements)
    if (name === undefined || redacted !== text || text.length > LONGEST_FIELD || !SECRET_NAME.test(name))
      return redacted
    const start = `${name}="`
    const [found] = this.find(`${start}${text}"`)
    if (found === undefined || found.from !== start.length || found.to !== start.length + text.length) return redacted
    const replacement = `[secret:${found.kind}:${found.fingerprint}]`
    replacements.set(replacement, [{ kind: found.kind, fingerprint: found.fingerprint }])
    return replacement
  }
}

const LONGEST_FIELD = 512
const SECRET_NAME = /secret|token|pass|pwd|key|credential|auth|cookie/iu
