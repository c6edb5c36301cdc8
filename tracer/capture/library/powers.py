"""``pow`` with a modulus: powers of integers, reduced at each step."""


def power_modulo(base, exponent, modulus):
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    if exponent < 0:
        base, exponent = inverse_modulo(base, modulus), -exponent
    power, base = 1 % modulus, base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            power = power * base % modulus
        exponent //= 2
        if exponent > 0:
            base = base * base % modulus
    return power


def inverse_modulo(base, modulus):
    """By Euclid's algorithm: ``base * inverse`` leaves the remainder in each step."""
    remainder, following = abs(modulus), base % abs(modulus)
    inverse, next_inverse = 0, 1
    while following != 0:
        quotient = remainder // following
        remainder, following = following, remainder - quotient * following
        inverse, next_inverse = next_inverse, inverse - quotient * next_inverse
    if remainder != 1:
        raise ValueError("base is not invertible for the given modulus")
    return inverse
