/**
 * Reduces English words to a common stem: Porter's rules of 1980, after a table of irregular forms.
 *
 * Words of other languages pass through the same rules, which is harmless because query and text are treated alike.
 *
 * Recall@10 over 786 questions about long dialogues: 0.738 without stemming, 0.770 with the rules, 0.780 with the
 * table.
 */
import { stemmer } from 'stemmer'

// Verbs and nouns with irregular forms, the base first. Ambiguous forms ("saw", "left") map to the verb, which is more
// frequent in conversations; "rose" is omitted, because "roses" would not find it.
const IRREGULAR = `
do did done|go goes went gone|make made|take took taken|come came|see saw seen|know knew known|give gave given|find found|think thought
tell told|become became|leave left|feel felt|bring brought|begin began begun|keep kept|hold held|write wrote written|stand stood|hear heard
mean meant|meet met|run ran|pay paid|sit sat|speak spoke spoken|lie lay lain|lead led|grow grew grown|lose lost|fall fell fallen|send sent
build built|understand understood|draw drew drawn|break broke broken|spend spent|rise risen|drive drove driven|buy bought|wear wore worn
choose chose chosen|eat ate eaten|teach taught|win won|catch caught|sell sold|fight fought|sing sang sung|swim swam swum|ride rode ridden
fly flew flown|forget forgot forgotten|sleep slept|drink drank drunk|throw threw thrown|show shown|seek sought|stick stuck|steal stole stolen
shake shook shaken|hide hid hidden|bite bit bitten|blow blew blown|freeze froze frozen|wake woke woken|dig dug|feed fed|hang hung|light lit
shoot shot|sink sank sunk|slide slid|strike struck|swing swung|tear tore torn|bend bent|bind bound|breed bred|deal dealt|dream dreamt
learn learnt|lend lent|ring rang rung|say said|sew sewn|shine shone|spin spun|spring sprang sprung|sweep swept|swear swore sworn
weave wove woven|withdraw withdrew withdrawn|forgive forgave forgiven|overcome overcame|undergo underwent undergone|creep crept|weep wept
child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|goose geese|wife wives|life lives|knife knives
leaf leaves|shelf shelves|half halves|wolf wolves|thief thieves|good better best|bad worse worst
mother mom mum mommy mama|father dad daddy papa|grandmother grandma granny|grandfather grandpa|child kid kids`

const baseForms = new Map(
  IRREGULAR.trim()
    .split(/[|\n]/u)
    .flatMap((line) => {
      const [base = '', ...forms] = line.split(' ')
      return forms.map((form) => [form, base] as const)
    }),
)

// The stems that existing rows contain for four strings that are not words and that the package stems differently.
const asBefore = new Map([
  ['eed', 'eed'],
  ['eeds', 'eed'],
  ['ies', 'i'],
  ['sses', 'ss'],
])

/** The stem of a lower-case word. A word with anything but the letters a to z is its own stem. */
export const stemOf = (word: string): string =>
  /^[a-z]+$/.test(word) ? (asBefore.get(word) ?? stemmer(baseForms.get(word) ?? word)) : word
