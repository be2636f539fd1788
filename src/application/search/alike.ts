/**
 * Synonyms of everyday speech, and kinds with their members: a query asks for a "kid" or a "sport", and the message
 * says "children" or "tennis".
 *
 * Both lists were written from general knowledge, before the failed searches were examined. They are applied only to
 * the query: stored rows contain the original words, so a longer list needs no rebuild. Synonyms count less than the
 * word itself, since they rarely cover all its senses.
 */
import { termCounts } from '../../domain/text/terms.js'

/** The weight of a synonym, and of a member of a kind. */
const ALIKE_WEIGHT = 0.35
const KIND_WEIGHT = 0.5

// Each word of a set is a synonym of each other one. A word may be in several sets; these are not merged.
const ALIKE = `
child toddler youngster|mother parent|father parent|son child|daughter child|wife husband spouse partner|boyfriend partner
girlfriend partner fiancee|television tv|bicycle bike cycling|photo picture photograph image snapshot pic
job work career occupation profession employment|buy purchase acquire|movie film cinema|car vehicle automobile|doctor physician medical
house home|begin start commence|end finish complete|sick ill unwell|happy glad joyful delighted pleased|sad unhappy upset
big large huge enormous|small little tiny|quick fast rapid speedy|gift present|trip travel journey tour|vacation holiday getaway|shop store
hobby pastime interest|school class|college university campus|student pupil learner|teacher instructor tutor|professor lecturer
boss manager supervisor|colleague coworker teammate|friend buddy pal mate|marry wedding marriage|baby infant newborn|brother sibling
sister sibling|relative family|food meal dish|cook bake recipe|dinner supper|drink beverage|restaurant cafe diner eatery|money cash funds
pay cost price|expensive costly pricey|cheap inexpensive affordable|salary wage income pay|rent lease|phone telephone mobile cellphone
computer laptop pc|internet online web|email mail message|letter note|book novel read|author writer|story tale|music song tune
concert gig show|band group|sing singer vocal|paint painter|draw sketch|art artwork artistic|exercise workout gym fitness|run jog
walk hike stroll|swim pool|sport athletic|game match|play game|win victory|prize award trophy medal
competition contest tournament championship|train practice|team squad|coach trainer|football soccer|injury hurt wound|pain ache
hospital clinic|medicine medication drug pill|nurse caregiver|healthy health wellness|diet nutrition eat|weight pound kilogram kg
anxious nervous worried anxiety|stress pressure|afraid scared fear frightened|angry mad furious annoyed|tired exhausted fatigue
calm relax peaceful|relax unwind rest|enjoy love|favorite favourite prefer|hate dislike|want wish desire|hope wish|help assist support aid
volunteer charity|donate give|advice suggestion tip recommendation|recommend suggest advise|teach instruct|learn study|know aware
think believe|say tell mention|talk speak chat discuss|ask question inquire|answer reply respond|meeting appointment|plan intend
goal aim target objective|dream aspiration ambition|idea concept|problem issue trouble difficulty|challenge obstacle difficulty
error bug fault mistake|fix repair resolve solve|solution fix|change alter modify|improve enhance better|increase grow raise rise
decrease reduce lower drop|create make build develop|design layout|make produce|choose select pick decide|decide decision|decision choice
use utilize employ|test check verify|find discover|search look seek|show display|see watch view|hear listen|start launch|stop quit cease
leave quit depart|arrive reach come|move relocate|live reside|visit go|meet encounter|attend join participate|celebrate party
birthday anniversary|party event gathering|ceremony event|festival fair event|church religious faith|pray prayer|pet dog cat|dog puppy pup
cat kitten|animal wildlife|plant garden|flower blossom bloom|tree forest wood|mountain peak hill|beach coast shore seaside|sea ocean
lake river|rain storm|snow snowy winter|hot warm heat|cold chilly|summer season|town city|country nation|street road|map route|train rail
plane flight fly airplane|airport flight|hotel accommodation|apartment flat|room bedroom|furniture chair|clothes outfit dress wear
shoe sneaker boot|jewelry necklace ring|bag purse backpack|box container|toy doll|picture image|camera photography|company firm business
business startup enterprise|office workplace|customer client|project assignment|task chore job|deadline due|report document
presentation talk|interview hiring|resume cv|hire recruit employ|fire dismiss|accident crash collision|police officer|lawyer attorney
army military|old elderly aged|young youth|new recent latest|beautiful pretty lovely gorgeous|nice great good|terrible awful horrible bad
funny hilarious humor|strange odd weird|important crucial significant|difficult hard tough|easy simple|strong powerful
smart clever intelligent|brave courage|proud pride|grateful thankful appreciate|angry upset|lonely alone|shy introverted|kind generous
busy occupied|free available|scared nervous|excited thrilled|surprised amazed shocked|disappointed upset|inspire motivate
grandmother grandparent|grandfather grandparent|nephew niece relative|aunt uncle relative|cousin relative|grandchild grandson granddaughter
evening night|morning breakfast|weekend saturday sunday|autumn fall|year annual|month monthly|week weekly|day daily
often frequently regularly|always constantly|sometimes occasionally|previously earlier|first initial|last final|nowadays currently
breakup split divorce|die death pass|funeral memorial|memory remember recall reminder|lose missing|broken damage|error exception failure
speed performance|secure safety|password credential|database sql|version release|deploy deployment|schedule calendar timetable
budget spending expense|estimate approximate|percent percentage|average mean|total sum|number amount quantity|score grade mark result
exam test quiz|homework assignment|lesson course class|culture tradition custom|gay lesbian lgbtq|gender transgender|pregnant pregnancy
nature outdoors|camp tent|yoga meditation|guitar instrument|piano instrument|violin instrument|drum instrument`

// One direction only: a query for a pet may mean the dog, but a query for the dog does not mean the parrot.
const KINDS = `
pet: dog cat puppy kitten hamster rabbit parrot fish turtle guinea snake lizard bird
animal: dog cat horse cow pig sheep goat bird fish lion tiger elephant bear monkey snake turtle rabbit wolf fox deer whale dolphin shark
sport: basketball football soccer tennis baseball hockey golf volleyball swim run climb ski snowboard surf skate box rugby cricket badminton cycle wrestle gymnastics
martial: karate judo taekwondo kickbox aikido jiujitsu kungfu boxing
instrument: guitar piano violin drum flute clarinet trumpet cello saxophone ukulele keyboard harp
music: song concert band album rock jazz classical pop rap hiphop blues country singer guitar piano
hobby: paint read hike cook bake garden knit photography fish draw write dance sing pottery craft
activity: hike swim paint camp climb run yoga cook bike dance kayak fish
exercise: run yoga swim gym weights jog pilates cycle
game: chess poker card board video console puzzle
art: paint draw sculpture pottery sketch canvas gallery museum
food: pizza pasta salad soup bread rice chicken sushi burger cake cheese fruit vegetable sandwich steak curry
dessert: cake cookie pie chocolate ice brownie pudding tart
fruit: apple banana orange grape strawberry mango peach pear lemon berry
drink: coffee tea juice beer wine water soda smoothie
vehicle: car truck bus motorcycle bike van
relative: aunt uncle cousin niece nephew grandmother grandfather brother sister
sibling: brother sister
parent: mother father
family: mother father brother sister son daughter wife husband
country: france italy spain germany england japan china india canada mexico brazil australia ireland sweden thailand greece portugal
city: london paris york tokyo rome berlin barcelona boston chicago seattle toronto
state: california texas florida washington oregon michigan colorado
color: red blue green yellow black white purple pink orange brown gray
colour: red blue green yellow black white purple pink orange brown grey
weather: rain snow sun storm wind cloud hot cold
season: spring summer autumn winter fall
holiday: christmas thanksgiving easter halloween
emotion: happy sad angry afraid proud nervous anxious excited
clothes: shirt dress shoe jacket coat hat skirt jeans scarf sock sweater
jewelry: necklace ring bracelet earring pendant
furniture: table chair sofa couch bed desk bookshelf
subject: math history physics chemistry biology geography
language: english french spanish german italian chinese japanese korean python javascript java
degree: bachelor master phd diploma
job: teacher nurse engineer doctor lawyer designer developer chef manager waiter
illness: flu cold fever cancer diabetes asthma allergy
injury: knee ankle sprain fracture broken wrist shoulder
device: phone laptop tablet computer camera watch
symptom: pain fever cough headache nausea
religion: church mosque temple christian muslim buddhist jewish hindu
book: novel author fiction story
community: club group organization
gift: flower watch book toy necklace`

export interface AlikeTerm {
  readonly term: string
  /** Below 1, the weight of the term itself. */
  readonly weight: number
}

const termsOf = (words: string): readonly string[] => [...termCounts(words).counts.keys()]
const linesOf = (list: string): readonly string[] => list.trim().split(/[|\n]/u)

function readLists(): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const known = new Map<string, Map<string, number>>()
  const add = (queryTerm: string, textTerm: string, weight: number): void => {
    if (queryTerm === textTerm) return
    const synonyms = known.get(queryTerm) ?? new Map<string, number>()
    known.set(queryTerm, synonyms.set(textTerm, Math.max(synonyms.get(textTerm) ?? 0, weight)))
  }
  for (const set of linesOf(ALIKE)) {
    const terms = termsOf(set)
    for (const queryTerm of terms) for (const textTerm of terms) add(queryTerm, textTerm, ALIKE_WEIGHT)
  }
  for (const line of linesOf(KINDS)) {
    const [kind = '', members = ''] = line.split(':')
    for (const queryTerm of termsOf(kind))
      for (const textTerm of termsOf(members)) add(queryTerm, textTerm, KIND_WEIGHT)
  }
  return known
}

const readAlike = (): ReadonlyMap<string, readonly AlikeTerm[]> =>
  new Map(
    [...readLists()].map(([queryTerm, synonyms]) => [
      queryTerm,
      [...synonyms].map(([term, weight]): AlikeTerm => ({ term, weight })),
    ]),
  )

// Read when it is first used: a command that does not search should not wait for it.
let alike: ReadonlyMap<string, readonly AlikeTerm[]> | undefined

/** The terms that also match a query term. */
export const alikeTerms = (term: string): readonly AlikeTerm[] => (alike ??= readAlike()).get(term) ?? []
