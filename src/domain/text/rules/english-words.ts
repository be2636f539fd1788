/** Groups of English words that the table of rules names, and the words that exclude a rule. */
/** The speaker, or the people of a story. */
export const OF_A_STORY = /\b(?:i|we|he|she|they|my|our|his|her)(?:['’]\p{L}+)?\b/u
/** A report of the past, or a fact about what a program can do. */
export const REPORTED =
  /\b(?:i|he|she|they|my|his|her|was|were|had|did|didn['’]t|ran|got|went|came|could|couldn['’]t|used to|yesterday|last (?:night|week|month|year)|free (?:plan|tier|version|account)|basic plan)(?:['’]\p{L}+)?\b/u
/** A task for the moment, and not for all later work. */
export const ONCE =
  /\b(?:right now|now|tonight|for today|this (?:time|once|slide|paragraph|sentence|line|email|mail|message|section|page|picture|image|cell|one|evening|morning|draft|letter)|just once|in the (?:second|third|last|first) (?:paragraph|slide|sentence|line))\b|\b(?:got|was|were|has|have) (?:really |actually )?(?:been )?\p{L}+ed\b/u

/** Verbs that follow *do not* without a rule: comfort, and sentences whose subject is left out. */
export const COMFORT = String.raw`worry|fret|stress|hesitate|mention|mind|know|think|have|feel|see|remember|care|give up|lose (?:hope|heart)|be (?:too |so )?(?:afraid|sad|shy|hard on|sorry|scared|upset|nervous)|get me wrong|beat yourself|sweat|miss|you|we|they|i|it|let (?:it|that|them|anyone|anything)|want|need|like|blame|cry|believe|fear|(?:ever )?quit|underestimate`
/** Words after *never* and *always* that are no imperative. */
export const NO_IMPERATIVE = String.raw`(?!proceed|need|feed|embed|exceed|succeed|bring|sing)\p{L}+(?:ed|ing)|been|be sure|a|an|the|had|have|has|was|were|is|are|in|on|at|for|with|to|so|too|too\p{L}*|this|that|it|i|my|mind|thought|knew|saw|went|got|felt|seen|done|gone|heard|good|nice|great|fun|happy|glad|here|there|up|down|one|ever|again|really|quite|just|more|less|know|feel|remember|enough|full|about|after|all|also|as|amazing|another|around|away|\p{L}+(?<![su])s`
/** Words after *must be* in a guess about a feeling or an event. */
export const GUESSED = String.raw`(?:all |just |also |all the |truly )?(?:really|so|such|quite|still|very|pretty|super|extremely|absolutely|amazing|incredible|awesome|exciting|excited|rewarding|great|nice|hard|tough|difficult|fun|wonderful|fantastic|beautiful|proud|thrilled|stoked|crazy|happy|lovely|cool|an? (?:great|amazing|incredible|wonderful|nice|huge|lot|real|special)|\p{L}+ing(?! used))`
export const GUESSING = /(?:^|[,.!?;]\s*|(?<![\p{L}\p{N}])(?:i|it|that|this|he|she|they|there|we)\s+(?:all\s+)?)$/u

export const VERBS_OF_ONLY =
  'use|run|edit|change|touch|write|answer|reply|show|add|modify|commit|read|output|return|include|call|ask|do|make|keep|list|test|send|forward|post|publish|deploy|merge|push|share|ship|book|pay|order|buy|email|mail|contact|store|save|put|place|upload|install|import|log|work|accept|approve|create|delete|schedule|start|restart|open|close|respond|speak|quote|cite|refer|report|release|talk|give|offer|issue|grant|charge|invoice|fetch|query|access|update|let|allow|message|notify|submit'
export const VERBS =
  'use|write|prefer|take|choose|pick|go with|name|call|say|run|put|store|send|book|work|format|sort|reach for|express|quote|show|keep|save|log|import|measure|count|round|sign|address|answer|reply|spell|label|file|commit|target|base|deploy|report|return|refer|link|import|pay|order|ship|post'
/** Verbs of what to do when something happens. */
export const REACTIONS =
  "stop|abort|halt|pause|hand|forward|escalate|route|transfer|pass|redirect|ask me|ask|tell|notify|inform|alert|ping|call|email|report|roll (?:it |them |everything )?back|revert|leave|wait|do nothing|do not|don['’]t|never|show me|send|file|open a|flag|mark|skip|log|switch to|reject|refuse|decline|retry|fall back|move|treat|hold|raise|consult|bring|loop in|assign|reply with|answer with|point them|offer|cc|copy"
export const APPROVAL =
  'approval|sign-?offs?|yes|nod|approval in writing|agreement|signatures?|consent|confirmation|permission|authori[sz]ation|go-ahead|green light|thumbs[- ]up|ok|okay|blessing|clearance|say-so|second pair of eyes|four eyes|human review|manual review'
export const APPROVED = String.raw`sign(?:ed|s|ing)?(?: it| them| this)? off|approv\p{L}+|confirm\p{L}*|ok(?:ay)?['’]?(?:ed|s|d)|agree[sd]?|green[- ]?li\p{L}+|said (?:yes|ok|okay|so|go)|says (?:yes|ok|okay|so|go)|gives? (?:the|his|her|their|me|you|a)|given (?:the|his|her|their|me|you|a|my)|cleared|reviewed|vetted|${APPROVAL}|had a look|looked (?:at|over)|read it|countersigned`
export const DAYS =
  "(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|(?:public |bank )?holidays|workdays?|nights?|(?:christmas|new year['’]?s)(?: eve)?"
export const MONTHS = 'january|february|march|april|june|july|august|september|october|november|december'
export const TIME = String.raw`(?:the )?(?:\d{1,2}(?:[:.]\d\d|th|st|nd|rd)?|noon|midnight|${DAYS}|business hours|office hours|working hours|opening hours|mornings?|evenings?|afternoons?|maintenance window|${MONTHS}|month[- ]end|(?:end|start|first|last|close) of)(?![\p{L}])`
export const NUMBER = String.raw`(?:[$€£]\s?)?\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty|half|a (?:single|hundred|thousand|dozen)`
export const TONGUE =
  'english|german|spanish|french|italian|portuguese|dutch|polish|russian|japanese|chinese|mandarin|korean|arabic|turkish|hindi|swedish|danish|greek'
export const WIPE =
  'scrub|mask|redact|anonymi[sz]e|pseudonymi[sz]e|strip|blank out|black out|obfuscate|hash|encrypt|truncate|censor|blur|sanitize|obscure|de-identify|x out|star out'
export const WIPED =
  'masked|redacted|scrubbed|anonymi[sz]ed|pseudonymi[sz]ed|blanked out|blacked out|obfuscated|hashed|censored|blurred|sanitized|starred out|truncated'
/** Words that make a request a standing one. */
export const STANDING =
  'always|never|every|each|whenever|any ?time|before you|from now on|going forward|by default|in (?:all|every)|only|consistently|at all times|keep|stick to|avoid|make sure'
export const STORY_WORD = '(?:i|we|he|she|they|you|it|my|our|his|her|us|me|this|that|these|those)'

/** Nouns after *no* that report or comfort. */
export const NO_REPORT =
  'one|worries|worry|problem|problems|need|needs|idea|doubt|wonder|way|ways|matter|thanks|thank|luck|longer|questions?|comment|reason|reasons|offense|pressure|rush|kidding|big|rest|sign|signs|shame|regrets|judgment|better|words|time|place|point|errors?|changes?|results?|issues?|matches|match|differences?|tests?|such|evidence|sense|other|harm|more|less|later|fewer|hard|fun|chance|stranger|limit|limits|end|output|data|files?|new|a|the|i|it|that|this|we|you|he|she|they|not|but|so|and'
export const CAN =
  'may|can|is allowed to|are allowed to|gets? to|get to|is permitted to|are permitted to|should|must|shall|is to|are to|has the right to|decides?|approves?|signs?(?: off)?|is authori[sz]ed to|are authori[sz]ed to|merges?|deploys?|touch(?:es)?'
