"""What the page says."""

from facefusion_ui.settings import Group

TITLE = "facefusion-ui"
LEAD = "Put one person's face on another, in a photo or a video. Nothing leaves this machine."
SOURCE = "1 · Face"
SOURCE_HELP = "One or several pictures of one person."
TARGET = "2 · Photo or video"
TARGET_HELP = "JPEG, PNG, WebP, AVIF, BMP, TIFF, GIF; MP4, MOV, MKV, WebM and more."
RESULT = "Result"
EMPTY = "The result appears here."
NEWEST = "Newest frame"
BEFORE_AFTER = "Before and after"
SWAP = "Swap"
STOP = "Stop"
STOPPING = "Stopping …"
DOWNLOAD = "Files to keep"
READY = "Ready. Press Swap: the sample pair is loaded."
WAITING = "Waiting for its turn: another job is running …"
STARTING = "Starting …"
KEEP_OPEN = "Keep this page open: closing it ends the job."
STOPPED = "Stopped. Nothing was written; your files and options are as they were."
NEEDS_SOURCE = "There is no face to put on"
NEEDS_TARGET = "There is no photo or video to change"
ADD_SOURCE = "Add a picture of the person on the left."
ADD_TARGET = "Add one on the left."
FAULT = "A fault of the program: {}"
FAULT_HINT = "Your files and options are kept. The terminal shows where it happened."
PRESET = "Set up for"
PRESET_HELP = "Options that go together for a card of that size. You can change each of them."
MACHINE = "This machine"
NOT_INSTALLED = "{} (not installed)"
FREE_NOW = "Free the memory now"
FREED = "All models are closed."
NOT_FREED = "A job is running; its models stay open."
FREE = "{} free of {}"
NO_READING = "nobody can be asked how much memory is free; a preset's size is taken as the limit"
ON_CARD = "on the card"
ON_PROCESSOR = "on the processor"
USED = "used {} ago"
NO_MODELS = "No model is open."

GROUPS: dict[Group, str] = {
    "face": "More about faces",
    "swapping": "Models",
    "mask": "Mask",
    "output": "Output",
}
LABELS = {
    "face_swapper_model": "Engine",
    "face_selector_mode": "Which faces",
    "face_selector_order": "Counted",
    "processors": "Steps",
}


def label(name: str) -> str:
    """Return what an option is called on the page.

    >>> label("face_mask_blur")
    'Face mask blur'
    """
    return LABELS.get(name, name.replace("_", " ").capitalize())


def sentence(text: str) -> str:
    """Return `text` as a sentence.

    >>> sentence("softness of the edge")
    'Softness of the edge.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def clock(seconds: float) -> str:
    """Tell a time that is left.

    >>> clock(4.4), clock(75), clock(3700)
    ('4 s', '1 min 15 s', '1 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
