/** Damages a file of JSON lines as killed programs, full disks, editors and copies do, and says what can still be read. */
import fc from 'fast-check'

/** What happens to a record of the file. */
type Damage =
  | { readonly kind: 'none' }
  /** A part of the record, then its line feed or the next record. */
  | { readonly kind: 'cut'; readonly share: number }
  /** A part of the record, then the whole record in the same line: the program wrote it again after a restart. */
  | { readonly kind: 'cut and repeated'; readonly share: number }
  /** Zeros, as in space that a file system had reserved. */
  | { readonly kind: 'zeros'; readonly count: number }
  /** Only the end of another record, before the record in the same line. */
  | { readonly kind: 'tail'; readonly share: number }

/** What ends a record. */
const ENDS = ['\n', '', '\r\n', '\r', ' ', '\n\n'] as const

export interface DamagedLines {
  readonly bytes: Buffer
  /** The records that can be read: their indexes in the undamaged file, and their lines in the damaged one. */
  readonly readable: readonly { readonly index: number; readonly line: number }[]
  /** Lines with a part that cannot be read, once for each part. */
  readonly damaged: readonly number[]
}

const damages: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'none' } as const) },
  ...(['cut', 'cut and repeated', 'tail'] as const).map((kind) => ({
    weight: 1,
    arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((share): Damage => ({ kind, share })),
  })),
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }).map((count): Damage => ({ kind: 'zeros', count })) },
)

/** The offset at which a record was cut: after its first byte and before its last one, also within a character. */
const cutAt = (record: Buffer, share: number): number => 1 + Math.floor(share * (record.length - 2))

/** A record after `"key":` may be a value of the record that was cut. What follows such a place is not decided here. */
const isBeforeValue = (text: string): boolean => /[:[,]\s*$/u.test(text)

/** Bytes with the number of their line, and what they contain. */
class Writer {
  readonly chunks: Buffer[] = []
  readonly readable: { readonly index: number; readonly line: number }[] = []
  readonly damaged: number[] = []
  line = 1

  write(bytes: Buffer): void {
    this.chunks.push(bytes)
    for (const byte of bytes) if (byte === 10) this.line += 1
  }
}

function damagedFile(
  records: readonly string[],
  changes: readonly { readonly damage: Damage; readonly end: (typeof ENDS)[number] }[],
  hasMark: boolean,
): DamagedLines {
  const file = new Writer()
  if (hasMark) file.write(Buffer.from('\uFEFF'))
  let isOpen = false
  for (const [index, text] of records.entries()) {
    const bytes = Buffer.from(text)
    const { damage = { kind: 'none' }, end = '\n' } = changes[index] ?? {}
    const isLast = index === records.length - 1
    const whole = (): void => {
      file.readable.push({ index, line: file.line })
      file.write(bytes)
      isOpen = false
    }
    const part = (cut: Buffer): void => {
      file.damaged.push(file.line)
      file.write(cut)
    }
    if (damage.kind === 'cut' && !isLast) {
      const cut = bytes.subarray(0, cutAt(bytes, damage.share))
      if (isOpen) file.write(Buffer.from('\n'))
      part(cut)
      isOpen = !end.includes('\n') && !isBeforeValue(cut.toString())
      file.write(Buffer.from(isOpen ? '' : '\n'))
      continue
    }
    if (damage.kind === 'cut and repeated') {
      if (isOpen) file.write(Buffer.from('\n'))
      part(bytes.subarray(0, cutAt(bytes, damage.share)))
    } else if (damage.kind === 'tail' && !isOpen && file.line > 1) {
      file.write(Buffer.from('\n'))
      part(bytes.subarray(cutAt(bytes, damage.share)))
    } else if (damage.kind === 'zeros') {
      if (isOpen) file.write(Buffer.from('\n'))
      part(Buffer.alloc(damage.count))
    }
    whole()
    file.write(Buffer.from(isLast ? '\n' : end))
  }
  return { bytes: Buffer.concat(file.chunks), readable: file.readable, damaged: file.damaged }
}

/** Damaged forms of a file with these records. */
export const damagedLines = (records: readonly string[]): fc.Arbitrary<DamagedLines> =>
  fc
    .tuple(
      fc.array(fc.record({ damage: damages, end: fc.constantFrom(...ENDS) }), {
        minLength: records.length,
        maxLength: records.length,
      }),
      fc.boolean(),
    )
    .map(([changes, hasMark]) => damagedFile(records, changes, hasMark))
