/** Files in which one JSON value is another one than the program writes there. */
import { isRecord } from '../../../src/lib/is-record.js'

type Path = readonly (string | number)[]

const LEVELS = 20_000
const DEEP = 'a value of many levels'

/** Values by name, as JSON. `toString` and `valueOf` that are no functions make a conversion to a text or a number fail. */
const ODD_VALUES: Readonly<Record<string, unknown>> = {
  'an object that cannot be converted': { toString: '', valueOf: 0 },
  'a list of such objects': [{ toString: '', valueOf: 0 }],
  [DEEP]: DEEP,
  null: null,
  'an empty list': [],
  'a list of null': [null],
  'an empty object': {},
  'a number': -1.5,
  'an empty text': '',
  true: true,
}

/** All places in a value, itself first. */
function* placesIn(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (Array.isArray(value)) for (const [at, each] of value.entries()) yield* placesIn(each, [...path, at])
  else if (isRecord(value)) for (const [name, each] of Object.entries(value)) yield* placesIn(each, [...path, name])
}

function withValue(value: unknown, [first, ...rest]: Path, replacement: unknown): unknown {
  if (first === undefined) return replacement
  if (Array.isArray(value)) return value.map((each, at) => (at === first ? withValue(each, rest, replacement) : each))
  return isRecord(value) ? { ...value, [first]: withValue(value[first], rest, replacement) } : value
}

/** A record as text, with the deep value, which `JSON.stringify` cannot write. */
const textOf = (record: unknown): string =>
  JSON.stringify(record).replaceAll(JSON.stringify(DEEP), () => '['.repeat(LEVELS) + ']'.repeat(LEVELS))

/** A form of a file. */
interface OddFile {
  readonly content: string
  /** What is changed, and to what. */
  readonly what: string
}

/** All such forms of a file of JSON. */
export function oddForms(name: string, content: string): readonly (() => OddFile)[] {
  if (!/\.(?:jsonl?|traj)$/u.test(name)) return []
  const records = (name.endsWith('.jsonl') ? content.trimEnd().split('\n') : [content]).map(
    (text) => JSON.parse(text) as unknown,
  )
  const texts = records.map((record) => JSON.stringify(record))
  return records.flatMap((record, at) =>
    [...placesIn(record)].flatMap((path) =>
      Object.entries(ODD_VALUES).map(([valueName, value]) => (): OddFile => ({
        content: texts
          .map((text, index) => `${index === at ? textOf(withValue(record, path, value)) : text}\n`)
          .join(''),
        what: `${valueName} at ${[at, ...path].join('.')}`,
      })),
    ),
  )
}
